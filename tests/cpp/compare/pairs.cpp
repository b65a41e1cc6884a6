#include "compare/pairs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "compare/expected.h"

namespace fuseproof::test {
namespace {

using BitsPair = std::pair<std::uint64_t, std::uint64_t>;

const Recipe& recipe_for(DType dtype) {
  return *std::find_if(std::begin(kRecipes), std::end(kRecipes),
                       [&](const Recipe& recipe) { return recipe.dtype == dtype; });
}

std::uint64_t top_bit(std::size_t size_bytes) { return std::uint64_t{1} << (8 * size_bytes - 1); }

std::uint64_t with_sign(const Recipe& recipe, std::uint64_t magnitude, bool negative,
                        std::size_t size_bytes) {
  if (recipe.sign == Sign::kNone || !negative) return magnitude;
  return recipe.sign == Sign::kTop ? magnitude | top_bit(size_bytes) : 0 - magnitude;
}

std::optional<BitsPair> special_bits(const Recipe& recipe, std::size_t index, int specials,
                                     std::size_t size_bytes) {
  const std::uint64_t negative_inf = recipe.inf | top_bit(size_bytes);
  if (specials >= 1 && index % 97 == 5) return BitsPair{recipe.nan, recipe.nan};
  if (specials >= 1 && index % 101 == 7) return BitsPair{recipe.inf, recipe.inf};
  if (specials >= 1 && index % 103 == 11) return BitsPair{negative_inf, negative_inf};
  if (specials >= 2 && index % 107 == 13) return BitsPair{recipe.nan, recipe.inf};
  if (specials >= 2 && index % 109 == 17) return BitsPair{recipe.inf, negative_inf};
  return std::nullopt;
}

}  // namespace

void store_bits(std::byte* target, std::uint64_t bits, std::size_t size_bytes) {
  std::memcpy(target, &bits, size_bytes);
}

Pair make_pair(DType dtype, std::size_t count, int specials) {
  const Recipe& recipe = recipe_for(dtype);
  const std::size_t size_bytes = dtype_size_bytes(dtype_part(dtype));
  const std::size_t parts = count * dtype_size_bytes(dtype) / size_bytes;
  Pair pair{dtype, Bytes(parts * size_bytes), Bytes(parts * size_bytes)};
  Generator generator(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const std::uint64_t magnitude =
        recipe.low + ((generator.next() * recipe.span >> 32) << recipe.shift);
    const std::uint64_t random = generator.next();
    std::uint64_t moved = magnitude + ((random >> 1) % recipe.jitter << recipe.shift);
    if (dtype == DType::kBool) moved &= 1;
    const bool negative = (random & 1) != 0;
    BitsPair bits{with_sign(recipe, magnitude, negative, size_bytes),
                  with_sign(recipe, moved, negative, size_bytes)};
    bits = special_bits(recipe, i, specials, size_bytes).value_or(bits);
    store_bits(pair.x.data() + i * size_bytes, bits.first, size_bytes);
    store_bits(pair.y.data() + i * size_bytes, bits.second, size_bytes);
  }
  return pair;
}

std::uint64_t digest(std::span<const double> values) {
  constexpr std::uint64_t kCanonicalNan = 0x7ff8000000000000;
  std::uint64_t result = 0xcbf29ce484222325;
  for (double value : values) {
    const std::uint64_t pattern =
        std::isnan(value) ? kCanonicalNan : std::bit_cast<std::uint64_t>(value);
    result = (result ^ pattern) * 0x100000001b3;
  }
  return result;
}

}  // namespace fuseproof::test
