#include "compare/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/convert.h"

namespace fuseproof {

MinimumTolerance minimum_tolerance(const Packed& expected, const Packed& actual) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_complex = dtype_class(expected.dtype) == DTypeClass::kComplex;
  const std::size_t parts = expected.count() * (is_complex ? 2 : 1);
  MinimumTolerance tolerance;
  for (std::size_t part = 0; part < parts; ++part) {
    const double x = value_at(expected, part);
    const double y = value_at(actual, part);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return {kInfinity, kInfinity};
    const double distance = std::abs(y - x);
    tolerance.absolute = std::max(tolerance.absolute, distance);
    tolerance.relative = std::max(tolerance.relative, x == 0 ? kInfinity : distance / std::abs(x));
  }
  return tolerance;
}

}  // namespace fuseproof
