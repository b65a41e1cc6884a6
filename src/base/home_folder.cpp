#include "base/home_folder.h"

#include <cstdlib>
#include <system_error>

namespace fuseproof {

std::optional<Path> home_folder() {
  const char* home = std::getenv("HOME");
  std::error_code ignored;
  if (home == nullptr || !std::filesystem::is_directory(home, ignored)) return std::nullopt;
  return home;
}

}  // namespace fuseproof
