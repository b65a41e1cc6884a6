#include "bundle/origin.h"

#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/home_folder.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_secret(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string read_or_create_secret(FileSystem& files, const Path& state) {
  if (state.empty()) throw Error(ErrorKind::kIo, "HOME names no folder that exists");
  const Path path = state / "origin";
  if (files.exists(path)) {
    std::string secret = files.read_text(path);
    if (is_secret(secret)) return secret;
    files.remove(path);  // anybody could guess an empty or a cut one
  }
  files.create_folders(state);
  // Where another process is faster, its secret is the one.
  files.create_private(path, random_id());
  std::string secret = files.read_text(path);
  if (!is_secret(secret)) {
    throw Error(ErrorKind::kIo, fmt::format("{} holds no secret of Fuseproof's", path.string()));
  }
  return secret;
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
  const std::optional<Path> home = home_folder();
  return home ? *home / ".local" / "state" / "fuseproof" : Path();
}

std::string state_problem(FileSystem& files, const Path& state) {
  try {
    read_or_create_secret(files, state);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string local_origin(FileSystem& files, const Path& state, const std::string& run_id) {
  try {
    return xxh128_hex(read_or_create_secret(files, state) + ":" + run_id);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace fuseproof
