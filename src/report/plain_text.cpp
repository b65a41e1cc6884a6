#include "report/plain_text.h"

namespace fuseproof {

std::string plain_text(std::string_view text) {
  constexpr unsigned char kDelete = 0x7f;
  constexpr unsigned char kC1Lead = 0xc2;  // U+0080 to U+009F are 0xc2 0x80 to 0xc2 0x9f
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == kC1Lead && next >= 0x80 && next <= 0x9f) {
      ++i;
      continue;
    }
    const bool is_control = byte < 0x20 || byte == kDelete;
    if (!is_control || byte == '\n' || byte == '\t') plain += text[i];
  }
  return plain;
}

}  // namespace fuseproof
