#include "tensor/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace fuseproof {

std::string xxh128_hex(std::span<const std::byte> content) {
  const XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string xxh128_hex(std::string_view content) {
  return xxh128_hex(std::as_bytes(std::span(content.data(), content.size())));
}

}  // namespace fuseproof
