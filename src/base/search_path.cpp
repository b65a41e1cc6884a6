#include "base/search_path.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <system_error>

namespace fuseproof {

std::optional<Path> find_program(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const Path candidate = Path(folder.empty() ? "." : folder) / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return std::filesystem::absolute(candidate);
    }
  }
  return std::nullopt;
}

}  // namespace fuseproof
