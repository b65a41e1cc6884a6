#pragma once

#include <string_view>

namespace fuseproof {

// Of this build, as in CMakeLists.txt: "0.1.0".
std::string_view version();

}  // namespace fuseproof
