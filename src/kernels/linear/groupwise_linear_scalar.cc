#include <cmath>
#include <cstdint>

#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

// For every machine; what the others are compared with.
struct ScalarVectors : vectors::ScalarFloats<ScalarVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 1, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;
  static constexpr std::int32_t kOffset = 0;

  using Product = GroupwiseProduct;
  using Columns = linear::GroupwiseColumns<ScalarVectors>;
  using Sums = linear::GroupwiseSums<ScalarVectors>;

  static float multiply_add(float x, float y, float z) { return std::fma(x, y, z); }
  static void store_bytes(std::int8_t* to, float x) {
    *to = static_cast<std::int8_t>(std::nearbyint(x));
  }

  struct GroupSums {
    std::int32_t columns[kTileColumns];
  };
  using Values = const std::int8_t*;
  using Weights = const std::int8_t*;

  static GroupSums first_group_sums(std::int32_t /*start*/) { return {}; }
  static Values broadcast(const std::int8_t* from) { return from; }
  static Weights load_weights(const std::int8_t* from) { return from; }
  static GroupSums add_products(GroupSums sums, Values x, Weights w) {
    for (std::int64_t i = 0; i < kTileColumns * GroupwiseWeights::kTileDepth; ++i) {
      sums.columns[i / GroupwiseWeights::kTileDepth] +=
          std::int32_t{x[i % GroupwiseWeights::kTileDepth]} * w[i];
    }
    return sums;
  }
  static float floats_of(const GroupSums& sums, int part) {
    return static_cast<float>(sums.columns[part]);
  }
  static float result(const Sums& sums, int part, const GroupwiseRows& /*rows*/,
                      std::int64_t /*row*/, const Columns& columns) {
    return linear::groupwise_result(sums, part, columns);
  }
};

}  // namespace

GroupwiseLinearFunctions groupwise_linear_scalar() {
  return linear::groupwise_functions<ScalarVectors>();
}

}  // namespace polystate
