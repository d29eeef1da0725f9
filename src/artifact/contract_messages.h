#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// What check_contract says of each way to break a contract; all are kContract and name the method,
// the input, the value found and the limit. `symbols` are the values of the method's symbols.

using Symbols = std::span<const std::int64_t>;

// A dimension of an input, and its size.
struct Dimension {
  std::size_t input;
  std::size_t dimension;
  std::int64_t size;
};

// An element that is not within min..max.
struct Outside {
  std::size_t element;
  std::int64_t min;
  std::int64_t max;
};

Error wrong_count(const MethodSpec& method, std::size_t count);
Error wrong_dtype(const MethodSpec& method, std::size_t input, const Tensor& tensor);
Error wrong_rank(const MethodSpec& method, std::size_t input, const Tensor& tensor);
// The size from which a symbol is read is not scale * symbol + offset for a whole number in its
// range.
Error not_whole(const MethodSpec& method, const Symbol& symbol, std::int64_t size);
Error out_of_range(const MethodSpec& method, const Symbol& symbol, std::int64_t size);
// `expected` is what the dimension's expression gave.
Error wrong_size(const MethodSpec& method, const Dimension& found, Symbols symbols,
                 const Result<std::int64_t>& expected);
// `value` is what the guard's condition gave: false, or an error.
Error guard_broken(const MethodSpec& method, const Guard& guard, Symbols symbols,
                   const Result<std::int64_t>& value);
Error wrong_value(const MethodSpec& method, std::size_t input, const Tensor& tensor,
                  const ValueRange& range, const Outside& outside);
// A limit on values cannot be computed from the sizes.
Error unknown_limit(const MethodSpec& method, std::size_t input, const ValueRange& range,
                    const Error& why);
// A bool that is neither 0 nor 1.
Error bad_bool(const MethodSpec& method, std::size_t input);
Error read_only(const MethodSpec& method, std::size_t input);
Error overlapping(const MethodSpec& method, std::size_t input, std::size_t other);

}  // namespace polystate
