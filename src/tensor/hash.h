// Content hashes: xxHash's 128-bit XXH3, written as 32 lower-case hex digits (big-endian, as the
// xxhsum tool prints them). They name blobs and tell edited files from untouched ones; they are no
// defence against someone who wants a collision.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace fuseproof {

std::string xxh128_hex(std::span<const std::byte> content);
std::string xxh128_hex(std::string_view content);

}  // namespace fuseproof
