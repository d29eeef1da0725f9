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

#include "core/half.h"
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

// Products with int8 weights in groups: the scalar loops against plain arithmetic, every
// instruction set against the scalar loops, bit for bit.
namespace polystate {
namespace {

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeonDot,
                              InstructionSet::kAvx2, InstructionSet::kAvxVnni,
                              InstructionSet::kAvx512Vnni};

constexpr std::int64_t kGroup = GroupwiseWeights::kGroupDepth;
constexpr std::int64_t kTileDepth = GroupwiseWeights::kTileDepth;

template <typename T>
std::span<T> elements(Tensor& tensor) {
  const auto bytes = tensor.mutable_bytes();
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, values).value();
}

// Random numbers of one seed.
class Draw {
 public:
  explicit Draw(std::int64_t seed) : generator_(static_cast<unsigned>(seed)) {}

  Tensor floats(const Shape& shape) {
    Tensor drawn = Tensor::empty(DType::kFloat32, shape).value();
    std::ranges::generate(elements<float>(drawn), [&] { return normal_(generator_); });
    return drawn;
  }
  Tensor scales(const Shape& shape) {
    Tensor drawn = Tensor::empty(DType::kFloat16, shape).value();
    std::ranges::generate(elements<std::uint16_t>(drawn), [&] {
      return float_to_float16(std::abs(normal_(generator_)) * 0.01F + 1e-4F);
    });
    return drawn;
  }
  std::int8_t byte() { return static_cast<std::int8_t>(byte_(generator_)); }

 private:
  std::mt19937 generator_;
  std::normal_distribution<float> normal_;
  std::uniform_int_distribution<int> byte_{-127, 127};
};

// Arguments of the operators.
struct LinearCase {
  std::int64_t depth;
  std::int64_t columns;
  Tensor x;
  Tensor tiles;
  Tensor scales;
  std::optional<Tensor> bias;
  std::optional<Tensor> addend;
  std::string activation = "none";
  Tensor out;

  static LinearCase random(std::int64_t rows, std::int64_t depth, std::int64_t columns);
  [[nodiscard]] Result<Tensor> linear(const GroupwiseLinearFunctions& functions) const;
  [[nodiscard]] Result<Tensor> embedding(const Tensor& ids, const Tensor& into) const;

  // A weight as the tiles and the scales have it.
  [[nodiscard]] std::int8_t value(std::int64_t column, std::int64_t step) const;
  [[nodiscard]] float scale(std::int64_t column, std::int64_t step) const;
};

// Where the tiles have a weight.
std::size_t place_of(std::int64_t column, std::int64_t step, std::int64_t groups) {
  const std::int64_t in_tile = step / kTileDepth * kTileColumns + column % kTileColumns;
  const std::int64_t tile = column / kTileColumns * groups * kGroup * kTileColumns;
  return static_cast<std::size_t>(tile + in_tile * kTileDepth + step % kTileDepth);
}

LinearCase LinearCase::random(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  Draw draw(rows * 7 + depth * 3 + columns);
  const std::int64_t tiles = tile_count(columns);
  const std::int64_t groups = GroupwiseWeights::groups(depth);
  std::vector<std::int8_t> packed(static_cast<std::size_t>(tiles * groups * kGroup * kTileColumns));
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t k = 0; k < depth; ++k) packed[place_of(c, k, groups)] = draw.byte();
  }
  return {.depth = depth,
          .columns = columns,
          .x = draw.floats({rows, depth}),
          .tiles = tensor_of(
              {tiles, groups * GroupwiseWeights::kStepsOfGroup, kTileColumns, kTileDepth}, packed),
          .scales = draw.scales({tiles, groups, kTileColumns}),
          .bias = draw.floats({columns}),
          .addend = draw.floats({rows, columns}),
          .out = Tensor::empty(DType::kFloat32, {rows, columns}).value()};
}

Result<Tensor> LinearCase::linear(const GroupwiseLinearFunctions& functions) const {
  KernelCall call("groupwise_linear");
  call.tensor(x).tensor(tiles).tensor(scales).integer(columns).optional(bias);
  call.optional(addend).text(activation);
  return call.into(out, [&](Arguments& given) { return groupwise_linear(given, functions); });
}

Result<Tensor> LinearCase::embedding(const Tensor& ids, const Tensor& into) const {
  KernelCall call("groupwise_embedding");
  call.tensor(ids).tensor(tiles).tensor(scales).integer(columns).integer(depth);
  return call.into(into, &GroupwiseEmbedding::run);
}

std::int8_t LinearCase::value(std::int64_t column, std::int64_t step) const {
  return tiles.values<std::int8_t>()[place_of(column, step, scales.shape()[1])];
}

float LinearCase::scale(std::int64_t column, std::int64_t step) const {
  const std::int64_t group = column / kTileColumns * scales.shape()[1] + step / kGroup;
  const std::int64_t place = group * kTileColumns + column % kTileColumns;
  Tensor own = scales;
  return float16_to_float(elements<std::uint16_t>(own)[static_cast<std::size_t>(place)]);
}

std::vector<float> floats_of(const Result<Tensor>& result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return {};
  const auto values = result->values<float>();
  return {values.begin(), values.end()};
}

double activated(double x, const std::string& activation) {
  if (activation == "relu") return std::max(x, 0.0);
  return activation == "silu" ? x / (1 + std::exp(-x)) : x;
}

// What 8 bits leave of a row.
std::vector<double> in_8_bits(std::span<const float> row) {
  std::vector<double> values;
  for (std::size_t first = 0; first < row.size(); first += kGroup) {
    const auto group = row.subspan(first, std::min<std::size_t>(kGroup, row.size() - first));
    float largest = 0;
    for (const float x : group) largest = std::max(largest, std::abs(x));
    const float inverse = largest > 0 ? 127 / largest : 0;
    for (const float x : group) {
      values.push_back(static_cast<double>(std::nearbyint(x * inverse)) *
                       static_cast<double>(largest / 127));
    }
  }
  return values;
}

// The operator's definition in double precision, and how large its terms are.
struct Expected {
  double value;
  double size;
};

std::vector<Expected> expected_of(const LinearCase& given) {
  const auto x = given.x.values<float>();
  const auto depth = static_cast<std::size_t>(given.depth);
  std::vector<Expected> found;
  for (std::size_t first = 0; first < x.size(); first += depth) {
    const std::vector<double> row = in_8_bits(x.subspan(first, depth));
    for (std::int64_t c = 0; c < given.columns; ++c) {
      Expected sum{0, 1};
      for (std::int64_t k = 0; k < given.depth; ++k) {
        const double term = row[static_cast<std::size_t>(k)] * given.value(c, k) *
                            static_cast<double>(given.scale(c, k));
        sum.value += term;
        sum.size += std::abs(term);
      }
      if (given.bias) sum.value += given.bias->values<float>()[static_cast<std::size_t>(c)];
      sum.value = activated(sum.value, given.activation);
      if (given.addend) sum.value += given.addend->values<float>()[found.size()];
      found.push_back(sum);
    }
  }
  return found;
}

void compare(const LinearCase& arguments) {
  const std::vector<Expected> expected = expected_of(arguments);
  const std::vector<float> scalar = floats_of(arguments.linear(groupwise_linear_scalar()));
  ASSERT_EQ(scalar.size(), expected.size());
  for (std::size_t i = 0; i < scalar.size(); ++i) {
    ASSERT_NEAR(scalar[i], expected[i].value, 1e-6 * expected[i].size) << "element " << i;
  }
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    SCOPED_TRACE(testing::Message() << "instruction set " << static_cast<int>(set));
    const std::vector<float> found = floats_of(arguments.linear(groupwise_linear_functions(set)));
    if (arguments.activation == "silu") {
      ASSERT_THAT(found, testing::Pointwise(testing::FloatNear(1e-5F), scalar));
    } else {
      ASSERT_EQ(found, scalar);
    }
  }
}

TEST(GroupwiseLinear, IsItsDefinitionForEveryInstructionSetAndSize) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 30}) {
    for (const std::int64_t depth : {1, 3, 31, 32, 33, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 64, 83}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        LinearCase arguments = LinearCase::random(rows, depth, columns);
        compare(arguments);
        arguments.bias.reset();
        arguments.addend.reset();
        compare(arguments);
      }
    }
  }
}

TEST(GroupwiseLinear, ActivatesBeforeItAdds) {
  for (const char* const activation : {"relu", "silu"}) {
    for (const std::int64_t columns : {1, 8, 17, 64, 83}) {
      SCOPED_TRACE(testing::Message() << activation << ", " << columns << " columns");
      LinearCase arguments = LinearCase::random(9, 31, columns);
      arguments.activation = activation;
      compare(arguments);
      arguments.addend.reset();
      compare(arguments);
    }
  }
}

TEST(GroupwiseLinear, HoldsTheLargestSums) {
  LinearCase arguments = LinearCase::random(2, 4096, 32);
  for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
    std::ranges::fill(elements<std::int8_t>(arguments.tiles), weight);
    for (const float value : {-1.0F, 1.0F}) {
      std::ranges::fill(elements<float>(arguments.x), value);
      compare(arguments);
    }
  }
}

TEST(GroupwiseLinear, AGroupKeepsWhatIsSmallBesideAnother) {
  LinearCase arguments = LinearCase::random(1, 64, 16);
  const std::span<float> row = elements<float>(arguments.x);
  for (float& value : row.first(32)) value *= 1e6F;
  LinearCase small = arguments;
  std::ranges::fill(elements<float>(small.x).first(32), 0.0F);
  compare(arguments);
  compare(small);
  const std::vector<double> kept = in_8_bits(row.subspan(32));
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(kept[i], row[32 + i], 0.02);
}

TEST(GroupwiseLinear, RowsOfZerosAndOfTheSmallestNumbersGiveTheBias) {
  for (const float value : {0.0F, 1e-38F}) {
    LinearCase arguments = LinearCase::random(2, 40, 20);
    std::ranges::fill(elements<float>(arguments.x), value);
    arguments.addend.reset();
    if (!arguments.bias) FAIL() << "nothing to compare with";
    const auto bias = arguments.bias->values<float>();
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      const std::vector<float> found = floats_of(arguments.linear(groupwise_linear_functions(set)));
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_FLOAT_EQ(found[i], bias[i % 20]);
    }
  }
}

TEST(GroupwiseLinear, WhatIsNotFiniteStaysInItsRow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {std::nanf(""), kInfinity, -kInfinity}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{39}}) {
      for (const char* const activation : {"none", "relu", "silu"}) {
        LinearCase arguments = LinearCase::random(3, 40, 20);
        arguments.activation = activation;
        elements<float>(arguments.x)[40 + place] = value;
        for (const InstructionSet set : kSets) {
          if (!is_available(set)) continue;
          const std::vector<float> found =
              floats_of(arguments.linear(groupwise_linear_functions(set)));
          for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(std::isnan(found[i]), i / 20 == 1) << activation << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(GroupwiseLinear, RefusesWhatDoesNotFit) {
  const std::vector<std::pair<std::function<void(LinearCase&)>, std::string>> changes = {
      {[](LinearCase& c) { c.x = tensor_of<float>({2, 8}, std::vector<float>(16)); },
       "tiles has shape [2, 16, 16, 4]; it must be [2, 8, 16, 4]"},
      {[](LinearCase& c) { c.columns = 40; }, "tiles has shape"},
      {[](LinearCase& c) { c.columns = -1; }, "columns is -1"},
      {[](LinearCase& c) { c.scales = tensor_of<float>({2, 2, 16}, std::vector<float>(64)); },
       "scales is float32"},
      {[](LinearCase& c) { c.scales = Tensor::empty(DType::kFloat16, {2, 1, 16}).value(); },
       "scales has shape [2, 1, 16]; it must be [2, 2, 16]"},
      {[](LinearCase& c) { c.bias = tensor_of<float>({1}, {1}); }, "bias has shape [1]"},
      {[](LinearCase& c) { c.addend = tensor_of<float>({1, 20}, std::vector<float>(20)); },
       "addend has shape [1, 20]; it must be [2, 20]"},
      {[](LinearCase& c) { c.activation = "gelu"; },
       "the activation is 'gelu'; it may be none, relu or silu"},
      {[](LinearCase& c) { c.x = Tensor::empty(DType::kFloat32, {2, 0}).value(); },
       "rows of x have 0 values"},
  };
  for (const auto& [change, message] : changes) {
    LinearCase arguments = LinearCase::random(2, 40, 20);
    change(arguments);
    const Result<Tensor> result = arguments.linear(groupwise_linear_scalar());
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, ErrorCode::kEngine);
    EXPECT_THAT(result.error().message, testing::HasSubstr(message));
  }
}

TEST(GroupwiseEmbedding, GivesTheRowsOfTheTable) {
  const LinearCase table = LinearCase::random(1, 45, 37);
  const std::vector<std::int64_t> ids = {0, 36, 15, 16, 36};
  const Tensor into = Tensor::empty(DType::kFloat32, {5, 45}).value();
  const std::vector<float> found = floats_of(table.embedding(tensor_of({5}, ids), into));
  ASSERT_EQ(found.size(), 225U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t id = ids[i / 45];
    const auto step = static_cast<std::int64_t>(i % 45);
    EXPECT_EQ(found[i], table.scale(id, step) * static_cast<float>(table.value(id, step)));
  }
}

TEST(GroupwiseEmbedding, RefusesIdsThatAreNotInTheTable) {
  const LinearCase table = LinearCase::random(1, 13, 37);
  const Tensor into = Tensor::empty(DType::kFloat32, {1, 13}).value();
  for (const std::int64_t id : {-1, 37}) {
    const Result<Tensor> result = table.embedding(tensor_of<std::int64_t>({1}, {id}), into);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, testing::HasSubstr("is not between 0 and 36"));
  }
}

}  // namespace
}  // namespace polystate
