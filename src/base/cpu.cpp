#include "base/cpu.h"

#include <sys/utsname.h>

#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fuseproof {
namespace {

// The value of the first line "key : value".
std::string first_value(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Extensions that -march=native may use and that change what is generated.
bool is_vector_extension(const std::string& flag) {
  for (const char* prefix : {"avx", "fma", "f16c", "amx", "sse4", "sve", "asimd", "bf16"}) {
    if (flag.starts_with(prefix)) return true;
  }
  return false;
}

std::string architecture() {
  struct utsname names = {};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

}  // namespace

std::string cpu_description(FileSystem& files) {
  std::string text;
  try {
    text = files.read_stream("/proc/cpuinfo");
  } catch (const Error&) {
    return architecture();
  }
  std::string name = first_value(text, "model name");
  if (name.empty()) name = fmt::format("{} {}", architecture(), first_value(text, "CPU part"));
  std::string flags = first_value(text, "flags");
  if (flags.empty()) flags = first_value(text, "Features");
  std::set<std::string> extensions;
  std::istringstream words(flags);
  for (std::string flag; words >> flag;) {
    if (is_vector_extension(flag)) extensions.insert(flag);
  }
  return fmt::format("{} ({})", name, fmt::join(extensions, " "));
}

}  // namespace fuseproof
