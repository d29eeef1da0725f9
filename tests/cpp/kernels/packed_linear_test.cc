#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "kernels/kernel_call.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/operators.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

// Products with packed float32 weights: every instruction set against plain arithmetic.
namespace polystate {
namespace {

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeon, InstructionSet::kAvx2,
                              InstructionSet::kAvx512};

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return normal(generator); });
  return values;
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values).value();
}

std::vector<float> floats_of(const Result<Tensor>& result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return {};
  const auto values = result->values<float>();
  return {values.begin(), values.end()};
}

// Arguments of the operators, and the weights as a plain matrix [columns, depth].
struct LinearCase {
  LinearCase(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : depth(depth),
        columns(columns),
        weights(random_floats(columns * depth, 1)),
        x(floats({rows, depth}, random_floats(rows * depth, 2))),
        tiles(floats({tile_count(columns), depth, kTileColumns}, packed())),
        bias(floats({columns}, random_floats(columns, 3))),
        addend(floats({rows, columns}, random_floats(rows * columns, 4))),
        out(Tensor::empty(DType::kFloat32, {rows, columns}).value()) {}

  [[nodiscard]] std::vector<float> packed() const {
    std::vector<float> values(static_cast<std::size_t>(tile_count(columns) * depth * kTileColumns));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t row = c / kTileColumns * depth + k;
        values[static_cast<std::size_t>(row * kTileColumns + c % kTileColumns)] =
            weights[static_cast<std::size_t>(c * depth + k)];
      }
    }
    return values;
  }

  [[nodiscard]] Result<Tensor> linear(MultiplyFloats multiply) const {
    KernelCall call("packed_linear");
    call.tensor(x).tensor(tiles).integer(columns).optional(bias).optional(addend).text(activation);
    return call.into(out, [&](Arguments& given) { return packed_linear(given, multiply); });
  }

  [[nodiscard]] Result<Tensor> embedding(const std::vector<std::int64_t>& ids) const {
    const auto count = static_cast<std::int64_t>(ids.size());
    const Tensor given = Tensor::of<std::int64_t>({count}, ids).value();
    const Tensor rows = Tensor::empty(DType::kFloat32, {count, depth}).value();
    KernelCall call("packed_embedding");
    call.tensor(given).tensor(tiles).integer(columns);
    return call.into(rows, &PackedEmbedding::run);
  }

  std::int64_t depth;
  std::int64_t columns;
  std::vector<float> weights;
  Tensor x;
  Tensor tiles;
  std::optional<Tensor> bias;
  std::optional<Tensor> addend;
  std::string activation = "none";
  Tensor out;
};

double activated(double x, const std::string& activation) {
  if (activation == "relu") return std::max(x, 0.0);
  return activation == "silu" ? x / (1 + std::exp(-x)) : x;
}

// The operator's definition, in double precision.
std::vector<double> expected_of(const LinearCase& arguments) {
  const auto x = arguments.x.values<float>();
  const auto depth = static_cast<std::size_t>(arguments.depth);
  const auto columns = static_cast<std::size_t>(arguments.columns);
  std::vector<double> found;
  for (std::size_t first = 0; first < x.size(); first += depth) {
    for (std::size_t c = 0; c < columns; ++c) {
      double sum = arguments.bias ? arguments.bias->values<float>()[c] : 0;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(x[first + k]) *
               static_cast<double>(arguments.weights[c * depth + k]);
      }
      const double addend = arguments.addend ? arguments.addend->values<float>()[found.size()] : 0;
      found.push_back(activated(sum, arguments.activation) + addend);
    }
  }
  return found;
}

void compare(const LinearCase& arguments) {
  const std::vector<double> expected = expected_of(arguments);
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    SCOPED_TRACE(testing::Message() << "instruction set " << static_cast<int>(set));
    const std::vector<float> found = floats_of(arguments.linear(multiply_floats(set)));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 2e-5 + 1e-5 * std::abs(expected[i])) << "element " << i;
    }
  }
}

TEST(PackedLinear, IsItsDefinitionForEveryInstructionSetAndSize) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 30, 100}) {
    for (const std::int64_t depth : {1, 3, 31, 64, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 64, 83, 200}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        LinearCase arguments(rows, depth, columns);
        compare(arguments);
        arguments.bias.reset();
        compare(arguments);
        arguments.addend.reset();
        compare(arguments);
      }
    }
  }
}

TEST(PackedLinear, ActivatesBeforeItAdds) {
  for (const char* const activation : {"relu", "silu"}) {
    for (const std::int64_t columns : {1, 8, 17, 83}) {
      SCOPED_TRACE(testing::Message() << activation << ", " << columns << " columns");
      LinearCase arguments(9, 31, columns);
      arguments.activation = activation;
      compare(arguments);
      arguments.addend.reset();
      compare(arguments);
    }
  }
}

TEST(PackedLinear, ARowHasTheSameResultWhateverRowsAreBesideIt) {
  constexpr std::int64_t kRows = 131;
  constexpr std::int64_t kDepth = 65;
  LinearCase all(kRows, kDepth, 83);
  const Tensor addends = floats({kRows, 83}, random_floats(kRows * 83, 5));
  all.addend = addends;
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    const std::vector<float> together = floats_of(all.linear(multiply_floats(set)));
    for (std::int64_t row = 0; row < kRows; ++row) {
      LinearCase one(1, kDepth, 83);
      const auto of_row = [row](const Tensor& rows, std::int64_t size) {
        const auto values = rows.values<float>().subspan(static_cast<std::size_t>(row * size),
                                                         static_cast<std::size_t>(size));
        return floats({1, size}, {values.begin(), values.end()});
      };
      one.x = of_row(all.x, kDepth);
      one.addend = of_row(addends, 83);
      const std::vector<float> alone = floats_of(one.linear(multiply_floats(set)));
      ASSERT_TRUE(std::ranges::equal(
          alone, std::span(together).subspan(static_cast<std::size_t>(row * 83), 83)))
          << "row " << row << ", instruction set " << static_cast<int>(set);
    }
  }
}

TEST(PackedLinear, WhatIsNotFiniteStaysInItsRow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {std::nanf(""), kInfinity, -kInfinity}) {
    LinearCase arguments(3, 40, 20);
    std::vector<float> x = floats_of(arguments.x);
    x[40 + 39] = value;
    arguments.x = floats({3, 40}, x);
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      const std::vector<float> found = floats_of(arguments.linear(multiply_floats(set)));
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(std::isfinite(found[i]), i / 20 != 1) << "element " << i;
      }
    }
  }
}

TEST(PackedLinear, RefusesWhatDoesNotFit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<std::function<void(LinearCase&)>, std::string>> changes = {
      {[](LinearCase& c) { c.x = floats({2, 8}, std::vector<float>(16)); },
       "tiles has shape [2, 40, 16]; it must be [2, 8, 16]"},
      {[](LinearCase& c) { c.columns = 16; },
       "tiles has shape [2, 40, 16]; it must be [1, 40, 16]"},
      {[](LinearCase& c) { c.columns = 33; }, "columns is 33; the tiles have 32"},
      {[](LinearCase& c) { c.columns = -1; }, "columns is -1"},
      {[](LinearCase& c) { c.columns = kMost; }, "columns is 9223372036854775807"},
      {[](LinearCase& c) { c.tiles = floats({32, 40}, std::vector<float>(1280)); },
       "tiles is float32"},
      {[](LinearCase& c) { c.bias = floats({1}, {1}); }, "bias has shape [1]"},
      {[](LinearCase& c) { c.addend = floats({1, 20}, std::vector<float>(20)); },
       "addend has shape [1, 20]; it must be [2, 20]"},
      {[](LinearCase& c) { c.activation = "gelu"; },
       "the activation is 'gelu'; it may be none, relu or silu"},
      {[](LinearCase& c) { c.x = Tensor::of<std::int64_t>({1}, {1}).value(); }, "x is int64"},
      {[](LinearCase& c) { c.x = Tensor::empty(DType::kFloat32, {2, 0}).value(); },
       "rows of x have 0 values"},
  };
  for (const auto& [change, message] : changes) {
    LinearCase arguments(2, 40, 20);
    change(arguments);
    const Result<Tensor> result = arguments.linear(multiply_floats_scalar());
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, ErrorCode::kEngine);
    EXPECT_THAT(result.error().message, testing::HasSubstr(message));
  }
}

TEST(PackedEmbedding, GivesTheRowsOfTheTable) {
  const LinearCase table(1, 13, 37);
  const std::vector<std::int64_t> ids = {0, 36, 15, 16, 36};
  const std::vector<float> found = floats_of(table.embedding(ids));
  ASSERT_EQ(found.size(), 65U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i / 13]);
    EXPECT_EQ(found[i], table.weights[id * 13 + i % 13]);
  }
}

TEST(PackedEmbedding, RefusesIdsThatAreNotInTheTable) {
  LinearCase table(1, 13, 37);
  for (const std::int64_t id : {-1, 37}) {
    const Result<Tensor> result = table.embedding({id});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, testing::HasSubstr("is not between 0 and 36"));
  }
  for (const std::int64_t columns : {-1, 20, 49}) {
    table.columns = columns;
    EXPECT_FALSE(table.embedding({0})) << columns;
  }
}

}  // namespace
}  // namespace polystate
