#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/check_failure.h"
#include "polystate/core/dtype.h"

namespace polystate {

// Limits of values, both inclusive.
struct CheckLimits {
  std::int64_t low;
  std::int64_t high;
};

// The failure of check `id` where one of the elements, whose bytes these are, is not within the
// limits: the first one's. Integers are compared as int64, all others as double; NaN is not within.
std::optional<CheckFailure> check_elements(DType dtype, std::span<const std::byte> bytes,
                                           CheckLimits limits, std::int64_t id);

// The same of one number, the size of a dimension.
std::optional<CheckFailure> check_size(std::int64_t size, CheckLimits limits, std::int64_t id);

}  // namespace polystate
