#include "base/version.h"

namespace fuseproof {

std::string_view version() { return FUSEPROOF_VERSION; }

}  // namespace fuseproof
