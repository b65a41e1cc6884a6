// The user's home folder, under which what has no folder of its own is kept.
#pragma once

#include <optional>

#include "base/files.h"

namespace fuseproof {

// $HOME where it is a folder. One that does not exist (the /nonexistent of system users) is none,
// and is never created.
std::optional<Path> home_folder();

}  // namespace fuseproof
