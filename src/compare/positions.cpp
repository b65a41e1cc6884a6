#include "compare/positions.h"

#include <algorithm>
#include <cstring>

#include "compare/formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/positions.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first: it includes this file once for each target.
#include <hwy/highway.h>

#ifndef FUSEPROOF_COMPARE_POSITION_KINDS
#define FUSEPROOF_COMPARE_POSITION_KINDS
namespace fuseproof {

// The kinds of one pair, as flags; at most one is set.
template <typename Flag>
struct PositionKinds {
  Flag nan, inf, zero_sign, value;
};

}  // namespace fuseproof
#endif

HWY_BEFORE_NAMESPACE();
namespace fuseproof::HWY_NAMESPACE {
namespace {

// Small enough for a difference to be found again quickly, and for 16-bit counters.
constexpr std::size_t kPositionBlock = 1024;

// Flags as wide as the elements and no branches: the compiler vectorises the loop over a block.
template <class Format, typename Bits = typename Format::Bits>
HWY_INLINE PositionKinds<Bits> kinds_of(Bits a, Bits b) {
  if constexpr (std::is_same_v<Format, formats::Bool>) {
    return {0, 0, 0, static_cast<Bits>((a != 0) != (b != 0))};
  } else if constexpr (Format::kIsInteger) {
    return {0, 0, 0, static_cast<Bits>(a != b)};
  } else {
    const Bits differs = a != b;
    const Bits a_nan = Format::is_nan(a), b_nan = Format::is_nan(b);
    const Bits any_nan = a_nan | b_nan;
    const Bits any_inf = (Format::is_inf(a) | Format::is_inf(b)) & (any_nan ^ 1);
    const Bits both_zero = Format::magnitude(static_cast<Bits>(a | b)) == 0;
    const Bits finite = (any_nan | any_inf) ^ 1;
    return {static_cast<Bits>(a_nan ^ b_nan), static_cast<Bits>(any_inf & differs),
            static_cast<Bits>(finite & both_zero & differs),
            static_cast<Bits>(finite & (both_zero ^ 1) & differs)};
  }
}

// Counts in the elements' own width where that cannot overflow within a block.
template <typename Bits>
using Counter = std::conditional_t<sizeof(Bits) == 1, std::uint16_t, std::make_unsigned_t<Bits>>;

template <class Format>
PositionKinds<std::uint64_t> count_block(const std::byte* a, const std::byte* b, std::size_t size) {
  using Bits = typename Format::Bits;
  Counter<Bits> nan = 0, inf = 0, zero_sign = 0, value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const PositionKinds<Bits> kinds =
        kinds_of<Format>(formats::load<Format>(a, i), formats::load<Format>(b, i));
    nan = static_cast<Counter<Bits>>(nan + kinds.nan);
    inf = static_cast<Counter<Bits>>(inf + kinds.inf);
    zero_sign = static_cast<Counter<Bits>>(zero_sign + kinds.zero_sign);
    value = static_cast<Counter<Bits>>(value + kinds.value);
  }
  return {nan, inf, zero_sign, value};
}

void add_block(PositionCount& total, std::uint64_t in_block, std::uint64_t first_in_block) {
  if (in_block == 0) return;
  if (total.count == 0) total.first = first_in_block;
  total.count += in_block;
}

struct FirstIndices {
  std::uint64_t nan = 0, inf = 0, zero_sign = 0, value = 0;
};

template <class Format>
FirstIndices find_first(const std::byte* a, const std::byte* b, std::size_t begin,
                        std::size_t size) {
  FirstIndices first;
  for (std::size_t i = size; i-- > 0;) {
    const auto kinds =
        kinds_of<Format>(formats::load<Format>(a, begin + i), formats::load<Format>(b, begin + i));
    if (kinds.nan != 0) first.nan = begin + i;
    if (kinds.inf != 0) first.inf = begin + i;
    if (kinds.zero_sign != 0) first.zero_sign = begin + i;
    if (kinds.value != 0) first.value = begin + i;
  }
  return first;
}

bool brings_a_new_kind(const Positions& total, const PositionKinds<std::uint64_t>& block) {
  return (total.nan.count == 0 && block.nan != 0) || (total.inf.count == 0 && block.inf != 0) ||
         (total.zero_sign.count == 0 && block.zero_sign != 0) ||
         (total.value.count == 0 && block.value != 0);
}

template <class Format>
Positions compare_parts(const std::byte* a, const std::byte* b, std::size_t count) {
  constexpr std::size_t kSize = sizeof(typename Format::Bits);
  Positions total;
  for (std::size_t begin = 0; begin < count; begin += kPositionBlock) {
    const std::size_t size = std::min(kPositionBlock, count - begin);
    const std::byte* a_block = a + begin * kSize;
    const std::byte* b_block = b + begin * kSize;
    if (std::memcmp(a_block, b_block, size * kSize) == 0) continue;
    const PositionKinds<std::uint64_t> block = count_block<Format>(a_block, b_block, size);
    FirstIndices first;
    if (brings_a_new_kind(total, block)) first = find_first<Format>(a, b, begin, size);
    add_block(total.nan, block.nan, first.nan);
    add_block(total.inf, block.inf, first.inf);
    add_block(total.zero_sign, block.zero_sign, first.zero_sign);
    add_block(total.value, block.value, first.value);
  }
  return total;
}

struct CompareVisitor {
  const std::byte* a;
  const std::byte* b;
  std::size_t count;

  template <class Format>
  Positions operator()(Format) const {
    return compare_parts<Format>(a, b, count);
  }
};

Positions compare_positions_here(DType dtype, const std::byte* a, const std::byte* b,
                                 std::size_t count) {
  return formats::visit(dtype, CompareVisitor{a, b, count});
}

}  // namespace
}  // namespace fuseproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fuseproof {
namespace {

HWY_EXPORT(compare_positions_here);

}  // namespace

Positions compare_positions(const Packed& expected, const Packed& actual) {
  require_comparable(expected, actual);
  return HWY_DYNAMIC_DISPATCH(compare_positions_here)(expected.dtype, expected.bytes.data(),
                                                      actual.bytes.data(), part_count(expected));
}

}  // namespace fuseproof
#endif  // HWY_ONCE
