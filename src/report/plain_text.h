// Text that a terminal only prints: sources, messages and names in a run may come from a stranger,
// and must neither move the cursor nor rename the window.
#pragma once

#include <string>
#include <string_view>

namespace fuseproof {

// Without control characters (C0, DEL and C1 in UTF-8) other than line feed and tab.
std::string plain_text(std::string_view text);

}  // namespace fuseproof
