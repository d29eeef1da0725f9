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
#include "kernels/linear/linear_call.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/operators.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

// Products with int8 weights: the scalar loops against plain arithmetic, every instruction set
// against the scalar loops, bit for bit.
namespace polystate {
namespace {

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeonDot,
                              InstructionSet::kAvx2, InstructionSet::kAvxVnni,
                              InstructionSet::kAvx512Vnni};

// Arguments of the operators, and the weights as a plain matrix [columns, depth].
struct LinearCase {
  std::int64_t depth;
  Tensor x;
  Tensor tiles;
  Tensor scales;
  Tensor sums;
  std::optional<Tensor> bias;
  std::optional<Tensor> addend;
  std::string activation = "none";
  Tensor out;
  std::vector<std::int32_t> weights;

  static LinearCase random(std::int64_t rows, std::int64_t depth, std::int64_t columns);
  [[nodiscard]] Result<Tensor> linear(const QuantizedLinearFunctions& functions) const;
  [[nodiscard]] Result<Tensor> embedding(const Tensor& ids, const Tensor& into) const;
};

template <typename T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, values).value();
}

template <typename T>
std::span<T> elements(Tensor& tensor) {
  const auto bytes = tensor.mutable_bytes();
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

LinearCase LinearCase::random(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  std::mt19937 generator(static_cast<unsigned>(rows * 7 + depth * 3 + columns));
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> byte(-127, 127);
  const auto floats = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::ranges::generate(values, [&] { return normal(generator); });
    return values;
  };
  const std::int64_t tiles = tile_count(columns);
  const std::int64_t groups = QuantizedWeights::groups(depth);
  std::vector<std::int8_t> packed(
      static_cast<std::size_t>(tiles * groups * kTileColumns * QuantizedWeights::kTileDepth));
  std::vector<std::int32_t> weights;
  std::vector<std::int32_t> sums(static_cast<std::size_t>(columns));
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const int value = byte(generator);
      const std::int64_t group = c / kTileColumns * groups + k / QuantizedWeights::kTileDepth;
      const std::int64_t place =
          (group * kTileColumns + c % kTileColumns) * QuantizedWeights::kTileDepth +
          k % QuantizedWeights::kTileDepth;
      packed[static_cast<std::size_t>(place)] = static_cast<std::int8_t>(value);
      sums[static_cast<std::size_t>(c)] += value;
      weights.push_back(value);
    }
  }
  return {.depth = depth,
          .x = tensor_of({rows, depth}, floats(rows * depth)),
          .tiles = tensor_of({tiles, groups, kTileColumns, QuantizedWeights::kTileDepth}, packed),
          .scales = tensor_of({columns}, floats(columns)),
          .sums = tensor_of({columns}, sums),
          .bias = tensor_of({columns}, floats(columns)),
          .addend = tensor_of({rows, columns}, floats(rows * columns)),
          .out = Tensor::empty(DType::kFloat32, {rows, columns}).value(),
          .weights = weights};
}

Result<Tensor> LinearCase::linear(const QuantizedLinearFunctions& functions) const {
  KernelCall call("quantized_linear");
  call.tensor(x).tensor(tiles).tensor(scales).tensor(sums).optional(bias);
  call.optional(addend).text(activation);
  return call.into(out, [&](Arguments& given) { return quantized_linear(given, functions); });
}

Result<Tensor> LinearCase::embedding(const Tensor& ids, const Tensor& into) const {
  KernelCall call("quantized_embedding");
  call.tensor(ids).tensor(tiles).tensor(scales).integer(depth);
  return call.into(into, &QuantizedEmbedding::run);
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

// The operator's definition, in double precision.
std::vector<double> expected_of(const LinearCase& arguments) {
  const auto x = arguments.x.values<float>();
  const auto scales = arguments.scales.values<float>();
  std::vector<double> found;
  for (std::size_t first = 0; first < x.size();
       first += static_cast<std::size_t>(arguments.depth)) {
    const auto row = x.subspan(first, static_cast<std::size_t>(arguments.depth));
    const float low = std::min(0.0F, *std::ranges::min_element(row));
    const float high = std::max(0.0F, *std::ranges::max_element(row));
    const float inverse = high > low ? 255 / (high - low) : 0;
    const float zero = std::nearbyint(-low * inverse);
    for (std::size_t c = 0; c < scales.size(); ++c) {
      double product = 0;
      for (std::size_t k = 0; k < row.size(); ++k) {
        const float value = std::clamp(std::nearbyint(row[k] * inverse) + zero, 0.0F, 255.0F);
        product += (value - zero) * static_cast<float>(arguments.weights[c * row.size() + k]);
      }
      const double scale = static_cast<double>((high - low) / 255) * static_cast<double>(scales[c]);
      const double bias = arguments.bias ? arguments.bias->values<float>()[c] : 0;
      const double addend = arguments.addend ? arguments.addend->values<float>()[found.size()] : 0;
      found.push_back(activated(product * scale + bias, arguments.activation) + addend);
    }
  }
  return found;
}

void compare(const LinearCase& arguments) {
  const std::vector<double> expected = expected_of(arguments);
  const std::vector<float> scalar = floats_of(arguments.linear(quantized_linear_scalar()));
  ASSERT_EQ(scalar.size(), expected.size());
  for (std::size_t i = 0; i < scalar.size(); ++i) {
    ASSERT_NEAR(scalar[i], expected[i], 1e-6 + 1e-6 * std::abs(expected[i])) << "element " << i;
  }
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    SCOPED_TRACE(testing::Message() << "instruction set " << static_cast<int>(set));
    const std::vector<float> found = floats_of(arguments.linear(quantized_linear_functions(set)));
    if (arguments.activation == "silu") {
      ASSERT_THAT(found, testing::Pointwise(testing::FloatNear(1e-5F), scalar));
    } else {
      ASSERT_EQ(found, scalar);
    }
  }
}

TEST(QuantizedLinear, IsItsDefinitionForEveryInstructionSetAndSize) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 30, 100}) {
    for (const std::int64_t depth : {1, 3, 4, 31, 64, 130}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 64, 83, 200}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << depth << " x " << columns);
        LinearCase arguments = LinearCase::random(rows, depth, columns);
        compare(arguments);
        arguments.bias.reset();
        compare(arguments);
        arguments.addend.reset();
        compare(arguments);
      }
    }
  }
}

TEST(QuantizedLinear, ActivatesBeforeItAdds) {
  for (const char* const activation : {"relu", "silu"}) {
    for (const std::int64_t columns : {1, 8, 17, 64, 83}) {
      SCOPED_TRACE(testing::Message() << activation << ", " << columns << " columns");
      LinearCase arguments = LinearCase::random(9, 31, columns);
      arguments.activation = activation;
      compare(arguments);
      arguments.addend.reset();
      for (float& scale : elements<float>(arguments.scales)) scale *= 0.01F;
      compare(arguments);
    }
  }
}

TEST(QuantizedLinear, HoldsTheLargestSums) {
  LinearCase arguments = LinearCase::random(2, 4096, 32);
  for (const std::int8_t weight : {std::int8_t{127}, std::int8_t{-127}}) {
    std::ranges::fill(elements<std::int8_t>(arguments.tiles), weight);
    std::ranges::fill(arguments.weights, weight);
    std::ranges::fill(elements<std::int32_t>(arguments.sums), weight * 4096);
    for (const float value : {-1.0F, 1.0F}) {
      std::ranges::fill(elements<float>(arguments.x), value);
      compare(arguments);
    }
  }
}

TEST(QuantizedLinear, SumsThatAreNotThoseOfTheWeightsWrap) {
  LinearCase arguments = LinearCase::random(1, 4, 3);
  std::ranges::fill(elements<std::int8_t>(arguments.tiles), std::int8_t{0});
  std::ranges::fill(elements<float>(arguments.x), -1.0F);  // 255 stands for zero
  std::ranges::fill(elements<float>(arguments.scales), 1.0F);
  arguments.bias.reset();
  arguments.addend.reset();
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> sums = {kLargest, -kLargest - 1, 16'777'216};
  std::ranges::copy(sums, elements<std::int32_t>(arguments.sums).begin());
  const std::vector<float> found = floats_of(arguments.linear(quantized_linear_scalar()));
  ASSERT_EQ(found.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto product = static_cast<std::int32_t>(0U - 255U * static_cast<std::uint32_t>(sums[i]));
    EXPECT_FLOAT_EQ(found[i], static_cast<float>(product) / 255) << "column " << i;
  }
}

TEST(QuantizedLinear, ARowOfZerosGivesTheBias) {
  LinearCase arguments = LinearCase::random(1, 40, 20);
  std::ranges::fill(elements<float>(arguments.x), 0.0F);
  compare(arguments);
}

TEST(QuantizedLinear, ARowOfTheSmallestNumbersGivesTheBias) {
  LinearCase arguments = LinearCase::random(2, 40, 20);
  for (float& value : elements<float>(arguments.x)) value = 1e-38F;
  arguments.addend.reset();
  if (!arguments.bias) FAIL() << "nothing to compare with";
  const auto bias = arguments.bias->values<float>();
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    const std::vector<float> found = floats_of(arguments.linear(quantized_linear_functions(set)));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_FLOAT_EQ(found[i], bias[i % 20]);
  }
}

TEST(QuantizedLinear, WhatIsNotFiniteStaysInItsRow) {
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
              floats_of(arguments.linear(quantized_linear_functions(set)));
          for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(std::isnan(found[i]), i / 20 == 1) << activation << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(QuantizedLinear, RefusesWhatDoesNotFit) {
  const std::vector<std::pair<std::function<void(LinearCase&)>, std::string>> changes = {
      {[](LinearCase& c) { c.x = tensor_of<float>({2, 8}, std::vector<float>(16)); },
       "tiles has shape [2, 10, 16, 4]; it must be [2, 2, 16, 4]"},
      {[](LinearCase& c) { c.scales = tensor_of<float>({40}, std::vector<float>(40)); },
       "tiles has shape"},
      {[](LinearCase& c) { c.sums = tensor_of<std::int32_t>({2}, {1, 2}); }, "sums has shape [2]"},
      {[](LinearCase& c) { c.sums = tensor_of<std::int64_t>({2}, {1, 2}); }, "sums is int64"},
      {[](LinearCase& c) { c.bias = tensor_of<float>({1}, {1}); }, "bias has shape [1]"},
      {[](LinearCase& c) { c.addend = tensor_of<float>({1, 20}, std::vector<float>(20)); },
       "addend has shape [1, 20]; it must be [2, 20]"},
      {[](LinearCase& c) { c.activation = "gelu"; },
       "the activation is 'gelu'; it may be none, relu or silu"},
      {[](LinearCase& c) { c.x = tensor_of<std::int64_t>({1}, {1}); }, "x is int64"},
      {[](LinearCase& c) { c.x = Tensor::empty(DType::kFloat32, {2, 0}).value(); },
       "rows of x have 0 values"},
  };
  for (const auto& [change, message] : changes) {
    LinearCase arguments = LinearCase::random(2, 40, 20);
    change(arguments);
    const Result<Tensor> result = arguments.linear(quantized_linear_scalar());
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, ErrorCode::kEngine);
    EXPECT_THAT(result.error().message, testing::HasSubstr(message));
  }
}

constexpr std::size_t kOfAPrompt = Scratch::kKept + 1;
constexpr std::size_t kOfAToken = 4096;

TEST(Scratch, GivesBackWhatAPromptNeededOnceManyCallsNeedLess) {
  Scratch scratch;
  scratch.bytes(kOfAPrompt)[kOfAPrompt - 1] = 1;
  for (int call = 0; call < 2 * Scratch::kCalls; ++call) {
    scratch.bytes(kOfAToken)[kOfAToken - 1] = 1;
  }
  EXPECT_EQ(scratch.capacity(), kOfAToken);
}

TEST(Scratch, KeepsWhatIsNeededNowAndThen) {
  Scratch scratch;
  for (int call = 0; call < 4 * Scratch::kCalls; ++call) {
    const std::size_t size = call % (Scratch::kCalls / 2) == 0 ? kOfAPrompt : kOfAToken;
    scratch.bytes(size)[size - 1] = 1;
    EXPECT_GE(scratch.capacity(), kOfAPrompt);
  }
}

TEST(QuantizedEmbedding, GivesTheRowsOfTheTable) {
  const LinearCase table = LinearCase::random(1, 13, 37);
  const std::vector<std::int64_t> ids = {0, 36, 15, 16, 36};
  const Tensor into = Tensor::empty(DType::kFloat32, {5, 13}).value();
  const std::vector<float> found = floats_of(table.embedding(tensor_of({5}, ids), into));
  ASSERT_EQ(found.size(), 65U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i / 13]);
    EXPECT_EQ(found[i], table.scales.values<float>()[id] *
                            static_cast<float>(table.weights[id * 13 + i % 13]));
  }
}

TEST(QuantizedEmbedding, RefusesIdsThatAreNotInTheTable) {
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
