#include "bundle/origin.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string read_or_create_secret(FileSystem& files, const Path& state) {
  const Path path = state / "origin";
  if (files.exists(path)) return files.read_text(path);
  files.create_folders(state);
  files.write_text_atomically(path, random_id());
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  return files.read_text(path);
}

}  // namespace

std::string random_id() {
  std::array<unsigned char, 16> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorKind::kIo, "cannot read random bytes from the operating system");
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Path state_folder() {
  if (const char* folder = environment("FUSEPROOF_STATE_DIR")) return folder;
  if (const char* folder = environment("XDG_STATE_HOME")) return Path(folder) / "fuseproof";
  const char* home = environment("HOME");
  return Path(home != nullptr ? home : "/nonexistent") / ".local" / "state" / "fuseproof";
}

std::string local_origin(FileSystem& files, const Path& state, const std::string& run_id) {
  try {
    return xxh128_hex(read_or_create_secret(files, state) + ":" + run_id);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace fuseproof
