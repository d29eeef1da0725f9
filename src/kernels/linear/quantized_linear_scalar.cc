#include <cmath>
#include <cstdint>

#include "core/wrapping.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/linear/quantized_loops.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

// For every machine; what the others are compared with.
struct ScalarVectors : vectors::ScalarFloats<ScalarVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 1, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;

  using Product = QuantizedProduct;
  using Columns = linear::QuantizedColumns<ScalarVectors>;

  static constexpr std::uint8_t kFlipped = 0;

  static float nearest(float x) { return std::nearbyint(x); }
  static void store_bytes(std::uint8_t* to, float x, std::int32_t zero) {
    const std::int32_t value = static_cast<std::int32_t>(nearest(x)) + zero;
    *to = static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  }

  struct Sums {
    std::int32_t columns[kTileColumns];
  };
  using Values = const std::uint8_t*;
  using Weights = const std::int8_t*;

  static Sums first_sums(const QuantizedRows& /*rows*/, std::int64_t /*row*/) { return {}; }
  static Values broadcast(const std::uint8_t* row, std::int64_t group) {
    return row + group * QuantizedWeights::kTileDepth;
  }
  static Weights load_weights(const std::int8_t* from) { return from; }
  static Sums add_products(Sums sums, Values x, Weights w) {
    for (std::int64_t i = 0; i < kTileColumns * QuantizedWeights::kTileDepth; ++i) {
      sums.columns[i / QuantizedWeights::kTileDepth] +=
          std::int32_t{x[i % QuantizedWeights::kTileDepth]} * w[i];
    }
    return sums;
  }

  using Integers = std::int32_t;
  static Integers load_sums(const std::int32_t* from, std::int64_t /*count*/) { return *from; }
  static float result(const Sums& sums, int part, const QuantizedRows& rows, std::int64_t row,
                      const Columns& columns) {
    const RowScale scale = rows.scales[row];
    // Wraps, as the others do, where a program's sums are not those of its weights.
    const std::int32_t product = wrapping_sum(
        sums.columns[part], wrapping_product(wrapping_product(-1, scale.zero), columns.sums));
    return std::fma(static_cast<float>(product), columns.scales * scale.scale, columns.bias);
  }
};

}  // namespace

QuantizedLinearFunctions quantized_linear_scalar() {
  return linear::quantized_functions<ScalarVectors>();
}

}  // namespace polystate
