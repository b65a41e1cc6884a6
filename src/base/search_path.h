// Programs that a user has installed: looked for in PATH, as a shell does.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"

namespace fuseproof {

// The executable of this bare name in PATH, as an absolute path.
std::optional<Path> find_program(const std::string& name);

}  // namespace fuseproof
