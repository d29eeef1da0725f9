#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"

// What products with int8 weights need beside the loops of all products; as they are included.
namespace polystate::linear {

// Differences beyond it are no finite number, and 255 divided by smaller ones is none.
inline constexpr float kLargestSpan = 3.4028234664e38F;
inline constexpr float kSmallestSpan = 1e-36F;

// Of the values of a row, and 0.
struct ValueRange {
  float low;
  float high;
  float nothing;  // 0, or NaN where a value is none or infinite
};

template <typename S>
ValueRange range_of(const float* row, std::int64_t depth) {
  auto lows = S::set(0);
  auto highs = S::set(0);
  // Several, since an addition takes several cycles.
  typename S::Vector nothing[] = {S::set(0), S::set(0), S::set(0), S::set(0)};
  constexpr std::int64_t kParts = sizeof(nothing) / sizeof(nothing[0]);
  std::int64_t i = 0;
  for (; i + kParts * S::kWidth <= depth; i += kParts * S::kWidth) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      const auto x = S::load(row + i + part * S::kWidth);
      lows = S::min(x, lows);
      highs = S::max(x, highs);
      nothing[part] = S::multiply_add(x, S::set(0), nothing[part]);
    }
  }
  ValueRange range{S::smallest(lows), S::largest(highs),
                   S::sum(S::add(S::add(nothing[0], nothing[1]), S::add(nothing[2], nothing[3])))};
  for (; i < depth; ++i) {
    range.low = row[i] < range.low ? row[i] : range.low;
    range.high = row[i] > range.high ? row[i] : range.high;
    range.nothing += row[i] * 0;
  }
  return range;
}

// How the values of a row are rounded: to `inverse` times the value, plus zero.
struct Rounding {
  float inverse;
  RowScale scale;
};

// From the smallest to the largest value of a row, and 0. A row with a NaN or an infinity gets a
// scale of NaN and an inverse of 0.
template <typename S>
Rounding rounding_of(const float* row, std::int64_t depth) {
  const auto [low, high, nothing] = range_of<S>(row, depth);
  const float span = high - low;
  if (nothing != 0 || !(span <= kLargestSpan)) return {0, {__builtin_nanf(""), 0}};
  const float inverse = span > kSmallestSpan ? 255 / span : 0;
  return {inverse, {span / 255, static_cast<std::int32_t>(S::nearest(-low * inverse))}};
}

template <typename S>
RowScale quantize(const float* row, std::int64_t depth, std::uint8_t* values) {
  const auto [inverse, scale] = rounding_of<S>(row, depth);
  std::int64_t i = 0;
  if (scale.scale != scale.scale) {
    for (; i < depth; ++i) values[i] = 0;
    return scale;
  }
  for (; i + S::kWidth <= depth; i += S::kWidth) {
    S::store_bytes(values + i, S::multiply(S::load(row + i), S::set(inverse)), scale.zero);
  }
  for (; i < depth; ++i) {
    const std::int32_t value = static_cast<std::int32_t>(S::nearest(row[i] * inverse)) + scale.zero;
    values[i] = static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value) ^ S::kFlipped;
  }
  return scale;
}

// What turns the sums of S::kWidth columns into results; of the first `count` of them.
template <typename S>
struct QuantizedColumns {
  QuantizedColumns(const QuantizedWeights& weights, std::int64_t first, std::int64_t count)
      : sums(S::load_sums(weights.sums + first, count)),
        scales(S::load_some(weights.scales + first, count)),
        bias(weights.bias == nullptr ? S::set(0) : S::load_some(weights.bias + first, count)) {}

  typename S::Integers sums;
  typename S::Vector scales;
  typename S::Vector bias;
};

template <typename S>
constexpr QuantizedLinearFunctions quantized_functions() {
  return {.value_bytes = 1, .quantize = &quantize<S>, .multiply = &multiply<S>};
}

}  // namespace polystate::linear
