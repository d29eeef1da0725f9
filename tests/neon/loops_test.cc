#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "core/half.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/vectors/half.h"

// The loops for ARM against the scalar ones, which the kernels' own tests compare with their
// definitions: products bit for bit, what has exponentials to rounding.
namespace polystate {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return normal(generator); });
  return values;
}

// The weights of a product, and rows of activations.
struct LinearCase {
  LinearCase(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : rows(rows),
        depth(depth),
        columns(columns),
        tiles(static_cast<std::size_t>(tile_count(columns) * QuantizedWeights::groups(depth) *
                                       kTileColumns * QuantizedWeights::kTileDepth)),
        scales(random_floats(columns, 1)),
        sums(static_cast<std::size_t>(columns)),
        bias(random_floats(columns, 2)),
        addend(random_floats(rows * columns, 3)),
        x(random_floats(rows * depth, 4)) {
    std::mt19937 generator(1);
    std::uniform_int_distribution<int> byte(-127, 127);
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t group =
            c / kTileColumns * QuantizedWeights::groups(depth) + k / QuantizedWeights::kTileDepth;
        const std::int64_t place =
            (group * kTileColumns + c % kTileColumns) * QuantizedWeights::kTileDepth +
            k % QuantizedWeights::kTileDepth;
        const int value = byte(generator);
        tiles[static_cast<std::size_t>(place)] = static_cast<std::int8_t>(value);
        sums[static_cast<std::size_t>(c)] += value;
      }
    }
  }

  [[nodiscard]] std::vector<float> run(const QuantizedLinearFunctions& functions,
                                       Activation activation, bool adds) const {
    const std::int64_t stride =
        QuantizedWeights::groups(depth) * QuantizedWeights::kTileDepth * functions.value_bytes;
    std::vector<std::uint8_t> values(static_cast<std::size_t>(rows * stride));
    std::vector<RowScale> row_scales;
    for (std::int64_t row = 0; row < rows; ++row) {
      row_scales.push_back(
          functions.quantize(x.data() + row * depth, depth, values.data() + row * stride));
    }
    const QuantizedWeights weights{.tiles = tiles.data(),
                                   .scales = scales.data(),
                                   .sums = sums.data(),
                                   .bias = bias.data(),
                                   .columns = columns,
                                   .depth = depth};
    std::vector<float> out(addend.size());
    functions.multiply({.rows = {values.data(), stride, row_scales.data()},
                        .weights = weights,
                        .activation = activation,
                        .addend = adds ? addend.data() : nullptr,
                        .out = out.data()},
                       rows, {0, tile_count(columns)});
    return out;
  }

  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  std::vector<std::int8_t> tiles;
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  std::vector<float> bias;
  std::vector<float> addend;
  std::vector<float> x;
};

TEST(QuantizedLinear, IsThatOfTheScalarLoops) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 9, 33}) {
    for (const std::int64_t depth : {1, 3, 4, 31, 64, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 83}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        const LinearCase some(rows, depth, columns);
        for (const bool adds : {false, true}) {
          for (const Activation exact : {Activation::kNone, Activation::kRelu}) {
            ASSERT_EQ(some.run(quantized_linear_neon_dot(), exact, adds),
                      some.run(quantized_linear_scalar(), exact, adds));
          }
          ASSERT_THAT(
              some.run(quantized_linear_neon_dot(), Activation::kSilu, adds),
              testing::Pointwise(testing::FloatNear(1e-4F),
                                 some.run(quantized_linear_scalar(), Activation::kSilu, adds)));
        }
      }
    }
  }
}

TEST(QuantizedLinear, WhatIsNotFiniteStaysInItsRow) {
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kSilu}) {
      LinearCase some(3, 40, 20);
      some.x[40 + 39] = value;
      const std::vector<float> found = some.run(quantized_linear_neon_dot(), activation, true);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(std::isnan(found[i]), i / 20 == 1);
    }
  }
}

// As LinearCase, with weights in groups.
struct GroupwiseCase {
  GroupwiseCase(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : rows(rows),
        depth(depth),
        columns(columns),
        groups(GroupwiseWeights::groups(depth)),
        tiles(static_cast<std::size_t>(tile_count(columns) * groups * kTileColumns *
                                       GroupwiseWeights::kGroupDepth)),
        scales(static_cast<std::size_t>(tile_count(columns) * groups * kTileColumns)),
        bias(random_floats(columns, 2)),
        addend(random_floats(rows * columns, 3)),
        x(random_floats(rows * depth, 4)) {
    std::mt19937 generator(1);
    std::uniform_int_distribution<int> byte(-127, 127);
    std::uniform_real_distribution<float> scale(0.001F, 0.1F);
    for (std::int8_t& value : tiles) value = static_cast<std::int8_t>(byte(generator));
    for (Half& of_group : scales) of_group.bits = float_to_float16(scale(generator));
  }

  [[nodiscard]] std::vector<float> run(const GroupwiseLinearFunctions& functions,
                                       Activation activation, bool adds) const {
    const std::int64_t stride = groups * GroupwiseWeights::kGroupDepth;
    std::vector<std::int8_t> values(static_cast<std::size_t>(rows * stride));
    std::vector<GroupScale> row_scales(static_cast<std::size_t>(rows * groups));
    for (std::int64_t row = 0; row < rows; ++row) {
      functions.quantize(x.data() + row * depth, depth, values.data() + row * stride,
                         row_scales.data() + row * groups);
    }
    const GroupwiseWeights weights{.tiles = tiles.data(),
                                   .scales = scales.data(),
                                   .bias = bias.data(),
                                   .columns = columns,
                                   .depth = depth};
    std::vector<float> out(addend.size());
    functions.multiply({.rows = {values.data(), row_scales.data(), groups},
                        .weights = weights,
                        .activation = activation,
                        .addend = adds ? addend.data() : nullptr,
                        .out = out.data()},
                       rows, {0, tile_count(columns)});
    return out;
  }

  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  std::int64_t groups;
  std::vector<std::int8_t> tiles;
  std::vector<Half> scales;
  std::vector<float> bias;
  std::vector<float> addend;
  std::vector<float> x;
};

TEST(GroupwiseLinear, IsThatOfTheScalarLoops) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 9, 33}) {
    for (const std::int64_t depth : {1, 31, 32, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 83}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        const GroupwiseCase some(rows, depth, columns);
        for (const bool adds : {false, true}) {
          for (const Activation exact : {Activation::kNone, Activation::kRelu}) {
            ASSERT_EQ(some.run(groupwise_linear_neon_dot(), exact, adds),
                      some.run(groupwise_linear_scalar(), exact, adds));
          }
        }
      }
    }
  }
}

TEST(GroupwiseLinear, WhatIsNotFiniteStaysInItsRow) {
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    GroupwiseCase some(3, 40, 20);
    some.x[40 + 39] = value;
    const std::vector<float> found = some.run(groupwise_linear_neon_dot(), Activation::kNone, true);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(std::isnan(found[i]), i / 20 == 1);
  }
}

TEST(Linear, IsThatOfTheScalarLoops) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 9, 33}) {
    for (const std::int64_t depth : {1, 3, 64, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 83}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        const auto tiles = random_floats(tile_count(columns) * depth * kTileColumns, 1);
        const auto bias = random_floats(columns, 2);
        const auto addend = random_floats(rows * columns, 3);
        const auto x = random_floats(rows * depth, 4);
        const auto run = [&](MultiplyFloats multiply) {
          std::vector<float> out(addend.size());
          multiply({.rows = {x.data(), depth},
                    .weights = {tiles.data(), bias.data(), columns, depth},
                    .activation = Activation::kRelu,
                    .addend = addend.data(),
                    .out = out.data()},
                   rows, {0, tile_count(columns)});
          return out;
        };
        ASSERT_THAT(run(multiply_floats_neon()),
                    testing::Pointwise(testing::FloatNear(1e-4F), run(multiply_floats_scalar())));
      }
    }
  }
}

std::vector<Half> halves(const AttendFunctions& functions, const std::vector<float>& numbers) {
  std::vector<Half> rounded(numbers.size());
  functions.to_halves(numbers.data(), static_cast<std::int64_t>(numbers.size()), rounded.data());
  return rounded;
}

// A head's pages, in another order than they are read, and queries that see parts of them.
struct AttentionCase {
  AttentionCase(std::int64_t page, std::int64_t dim, std::int64_t positions)
      : page(page),
        dim(dim),
        positions(positions),
        numbers(static_cast<std::size_t>((positions + page - 1) / page)),
        keys(random_floats(pages() * dim * page, 5)),
        values(random_floats(pages() * dim * page, 6)),
        queries(random_floats(kMaxQueries * dim, 7)),
        bias(random_floats(positions, 8)) {
    std::iota(numbers.rbegin(), numbers.rend(), 0);
  }

  [[nodiscard]] std::int64_t pages() const { return static_cast<std::int64_t>(numbers.size()); }

  // Over pages of float16 if `as_halves`, else of float32.
  [[nodiscard]] std::vector<float> run(const AttendFunctions& functions, bool as_halves,
                                       const ScoreOptions& options, bool biased) const {
    const std::vector<Half> half_keys = halves(functions, keys);
    const std::vector<Half> half_values = halves(functions, values);
    const AttendFunction attend = as_halves ? functions.over_halves : functions.over_floats;
    const HeadPages head{
        .keys = as_halves ? static_cast<const void*>(half_keys.data()) : keys.data(),
        .values = as_halves ? static_cast<const void*>(half_values.data()) : values.data(),
        .pages = numbers.data(),
        .page = page,
        .head_dim = dim,
        .value_dim = dim,
        .key_page_stride = dim * page,
        .value_page_stride = dim * page,
        .value_stride = dim};
    std::vector<float> out(queries.size());
    std::vector<HeadQuery> asked;
    const float sink = 0.5F;
    for (std::int64_t q = 0; q < kMaxQueries; ++q) {
      asked.push_back({.query = queries.data() + q * dim,
                       .bias = biased ? bias.data() : nullptr,
                       .sink = biased ? &sink : nullptr,
                       .out = out.data() + q * dim,
                       .seen = {std::min(q, positions - 1), positions}});
    }
    const std::int64_t stride = attend_stride(pages() * page);
    std::vector<float> scratch(static_cast<std::size_t>(kMaxQueries * stride));
    attend(head, options, asked.data(), kMaxQueries, {scratch.data(), stride});
    return out;
  }

  std::int64_t page;
  std::int64_t dim;
  std::int64_t positions;
  std::vector<std::int64_t> numbers;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> queries;
  std::vector<float> bias;
};

TEST(Attention, RoundsToFloat16AsTheScalarLoopsDo) {
  auto numbers = random_floats(37, 9);
  numbers[3] = 1e9F;
  numbers[4] = -HUGE_VALF;
  numbers[5] = 1 + 0x1p-11F;
  const auto bits = [&](const AttendFunctions& functions) {
    std::vector<std::uint16_t> found;
    for (const Half each : halves(functions, numbers)) found.push_back(each.bits);
    return found;
  };
  EXPECT_EQ(bits(attend_neon()), bits(attend_scalar()));
}

TEST(Attention, IsThatOfTheScalarLoops) {
  for (const std::int64_t page : {1, 3, 16}) {
    for (const std::int64_t dim : {1, 7, 32, 65}) {
      for (const std::int64_t positions : {1, 2, 15, 48}) {
        for (const ScoreOptions options : {ScoreOptions{0.3F, 0}, ScoreOptions{1, 5}}) {
          for (const bool biased : {false, true}) {
            SCOPED_TRACE(testing::Message() << "pages of " << page << ", " << positions
                                            << " positions, dimension " << dim);
            const AttentionCase some(page, dim, positions);
            for (const bool as_halves : {false, true}) {
              ASSERT_THAT(
                  some.run(attend_neon(), as_halves, options, biased),
                  testing::Pointwise(testing::FloatNear(1e-5F),
                                     some.run(attend_scalar(), as_halves, options, biased)));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace polystate
