#include "kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "kernels/kernel_call.h"
#include "kernels/operators.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

constexpr double kEps = 1e-5;

Tensor random(const Shape& shape, float around = 0) {
  std::mt19937 generator(static_cast<unsigned>(shape.back()));
  std::normal_distribution<float> normal(around, 3);
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return Tensor::of<float>(shape, values).value();
}

struct NormCase {
  Tensor x;
  Tensor weight;
  Tensor bias;
  Tensor out;

  NormCase(const Shape& shape, std::int64_t columns)
      : x(random(shape, 10)),
        weight(random({columns})),
        bias(random({columns})),
        out(Tensor::empty(DType::kFloat32, shape).value()) {}

  [[nodiscard]] Result<Tensor> run(
      const std::function<Status(Arguments&)>& kernel = &LayerNorm::run) const {
    KernelCall call("layer_norm");
    call.tensor(x).tensor(weight).tensor(bias).number(kEps);
    return call.into(out, kernel);
  }
  [[nodiscard]] Result<Tensor> run(InstructionSet set) const {
    return run([set](Arguments& arguments) { return layer_norm(arguments, set); });
  }
};

// A row by its definition.
std::vector<double> normalised(const float* row, const NormCase& of) {
  const auto weight = of.weight.values<float>();
  const auto bias = of.bias.values<float>();
  const auto size = static_cast<double>(weight.size());
  double mean = 0;
  double variance = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) mean += row[i] / size;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    variance += (row[i] - mean) * (row[i] - mean) / size;
  }
  std::vector<double> result;
  result.reserve(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    result.push_back((row[i] - mean) / std::sqrt(variance + kEps) * weight[i] + bias[i]);
  }
  return result;
}

TEST(LayerNorm, IsItsDefinition) {
  for (const std::int64_t columns : {1, 2, 31, 32, 33, 64, 100, 512, 1000}) {
    const NormCase norm({3, 41, columns}, columns);
    ASSERT_TRUE(norm.run());
    const auto x = norm.x.values<float>();
    const auto out = norm.out.values<float>();
    for (std::size_t start = 0; start < x.size(); start += static_cast<std::size_t>(columns)) {
      const std::vector<double> expected = normalised(&x[start], norm);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(out[start + i], expected[i], 2e-5) << columns << " columns";
      }
    }
  }
}

TEST(LayerNorm, EveryInstructionSetGivesTheSameBits) {
  for (const std::int64_t columns : {1, 31, 100, 512, 1000}) {
    const NormCase norm({7, columns}, columns);
    ASSERT_TRUE(norm.run(InstructionSet::kScalar));
    const auto out = norm.out.values<float>();
    const std::vector<float> expected(out.begin(), out.end());
    for (const InstructionSet set : available_instruction_sets()) {
      ASSERT_TRUE(norm.run(set));
      EXPECT_EQ(std::vector<float>(out.begin(), out.end()), expected)
          << columns << " columns, instruction set " << static_cast<int>(set);
    }
  }
}

TEST(LayerNorm, WhatIsNotFiniteStaysInItsRow) {
  const NormCase norm({3, 40}, 40);
  reinterpret_cast<float*>(norm.x.mutable_bytes().data())[45] = INFINITY;
  ASSERT_TRUE(norm.run());
  const auto out = norm.out.values<float>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(std::isnan(out[i]), i / 40 == 1) << i;
  }
}

TEST(LayerNorm, OfNothingIsNothing) {
  EXPECT_TRUE(NormCase({0, 40}, 40).run());
  EXPECT_TRUE(NormCase({3, 0}, 0).run());
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  const auto message_of = [](const NormCase& norm) {
    const Result<Tensor> status = norm.run();
    return status ? std::string() : status.error().message;
  };
  EXPECT_NE(message_of(NormCase({3, 40}, 41)).find("weight"), std::string::npos);
  NormCase norm({3, 40}, 40);
  norm.bias = random({39});
  EXPECT_NE(message_of(norm).find("bias"), std::string::npos);
  norm.bias = random({40});
  norm.x = Tensor::empty(DType::kInt64, {3, 40}).value();
  EXPECT_NE(message_of(norm).find("x is"), std::string::npos);
}

}  // namespace
}  // namespace polystate
