#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "kernels/kernel_call.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/operators.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

// Layers of recurrent networks: every instruction set against plain arithmetic.
namespace polystate {
namespace {

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeon, InstructionSet::kAvx2,
                              InstructionSet::kAvx512};

using Values = std::vector<double>;

template <typename T>
Tensor random(const Shape& shape, unsigned seed, T scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<T> normal(0, scale);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<T> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return normal(generator); });
  return Tensor::of<T>(shape, values).value();
}

template <typename T>
Values values_of(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

// The value of a packed matrix [columns, depth].
double packed_value(const Values& tiles, std::int64_t depth, std::int64_t column, std::int64_t k) {
  const std::int64_t row = column / kTileColumns * depth + k;
  return tiles[static_cast<std::size_t>(row * kTileColumns + column % kTileColumns)];
}

Values product(const Values& tiles, const Values& x, std::int64_t columns) {
  const auto depth = static_cast<std::int64_t>(x.size());
  Values result(static_cast<std::size_t>(columns));
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t k = 0; k < depth; ++k) {
      result[static_cast<std::size_t>(c)] +=
          packed_value(tiles, depth, c, k) * x[static_cast<std::size_t>(k)];
    }
  }
  return result;
}

// One row of a tensor along a dimension, of which there is one more or none before it.
template <typename T>
Tensor row_of(const Tensor& tensor, std::int64_t row, std::size_t dimension) {
  Shape shape = tensor.shape();
  const std::int64_t rows = shape[dimension];
  const std::int64_t size = shape.back();
  shape[dimension] = 1;
  std::vector<T> values;
  const auto all = tensor.values<T>();
  for (std::int64_t i = row; i * size < std::ssize(all); i += rows) {
    values.insert(values.end(), all.begin() + i * size, all.begin() + (i + 1) * size);
  }
  return Tensor::of<T>(shape, values).value();
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <typename T>
struct LayerCase {
  std::string kind;
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t size;
  std::int64_t width;  // less than `size`: of a projection
  bool reverse;
  bool has_bias;
  Tensor gates = random<T>({steps, batch, columns()}, 1, 2);
  Tensor hidden = random<T>({batch, width}, 2);
  std::optional<Tensor> cell = of_lstm(random<T>({batch, size}, 3));
  Tensor tiles = random<T>({tile_count(columns()), width, kTileColumns}, 4, T{0.3F});
  std::optional<Tensor> bias = has_bias ? std::optional(random<T>({columns()}, 5)) : std::nullopt;
  std::optional<Tensor> projection =
      width < size ? std::optional(random<T>({tile_count(width), size, kTileColumns}, 6, T{0.3F}))
                   : std::nullopt;

  [[nodiscard]] bool is_lstm() const { return kind == "lstm"; }
  [[nodiscard]] std::int64_t states() const { return is_lstm() ? 2 : 1; }
  [[nodiscard]] std::int64_t columns() const {
    return size * (is_lstm() ? 4 : kind == "gru" ? 3 : 1);
  }
  [[nodiscard]] std::optional<Tensor> of_lstm(const Tensor& tensor) const {
    return is_lstm() ? std::optional(tensor) : std::nullopt;
  }

  [[nodiscard]] Result<Tensor> run(InstructionSet set) const {
    KernelCall call("recurrence");
    call.tensor(gates).tensor(hidden).optional(cell).tensor(tiles).optional(bias);
    call.optional(projection).text(kind).boolean(reverse);
    const RecurrentFunctions functions{functions_of_floats(set), functions_of_doubles(set)};
    const Tensor out = Tensor::empty(dtype_of<T>(), {steps + states(), batch, size}).value();
    return call.into(out, [&](Arguments& arguments) { return recurrence(arguments, functions); });
  }
};

// The states of one row, step after step, by their definition.
template <typename T>
class Row {
 public:
  Row(const LayerCase<T>& layer, std::int64_t row)
      : layer_(layer), row_(row), hidden_(part(values_of<T>(layer.hidden), row, layer.width)) {
    if (layer.cell) cell_ = part(values_of<T>(*layer.cell), row, layer.size);
  }

  void advance(std::int64_t step) {
    const Values x = part(values_of<T>(layer_.gates), step * layer_.batch + row_, layer_.columns());
    Values sums = product(values_of<T>(layer_.tiles), hidden_, layer_.columns());
    if (layer_.bias) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values_of<T>(*layer_.bias)[i];
    }
    Values next(static_cast<std::size_t>(layer_.size));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = next_state(x, sums, i);
    hidden_ =
        layer_.projection ? product(values_of<T>(*layer_.projection), next, layer_.width) : next;
  }

  [[nodiscard]] Values hidden() const {
    Values filled = hidden_;
    filled.resize(static_cast<std::size_t>(layer_.size));
    return filled;
  }
  [[nodiscard]] const Values& cell() const { return cell_; }

 private:
  static Values part(const Values& values, std::int64_t row, std::int64_t size) {
    return {values.begin() + row * size, values.begin() + (row + 1) * size};
  }

  double next_state(const Values& x, const Values& sums, std::size_t i) {
    const auto size = static_cast<std::size_t>(layer_.size);
    const auto gate = [&](std::size_t number) {
      return x[number * size + i] + sums[number * size + i];
    };
    if (layer_.kind == "tanh") return std::tanh(gate(0));
    if (layer_.kind == "relu") return std::max(gate(0), 0.0);
    if (layer_.kind == "gru") {
      const double fresh = std::tanh(x[2 * size + i] + sigmoid(gate(0)) * sums[2 * size + i]);
      return fresh + sigmoid(gate(1)) * (hidden_[i] - fresh);
    }
    cell_[i] = sigmoid(gate(1)) * cell_[i] + sigmoid(gate(0)) * std::tanh(gate(2));
    return sigmoid(gate(3)) * std::tanh(cell_[i]);
  }

  const LayerCase<T>& layer_;
  std::int64_t row_;
  Values hidden_;
  Values cell_;
};

template <typename T>
Values expected(const LayerCase<T>& layer) {
  const auto size = static_cast<std::size_t>(layer.size);
  Values result(static_cast<std::size_t>((layer.steps + layer.states()) * layer.batch) * size);
  const auto put = [&](std::int64_t step, std::int64_t row, const Values& values) {
    std::ranges::copy(values, result.begin() + (step * layer.batch + row) * layer.size);
  };
  for (std::int64_t r = 0; r < layer.batch; ++r) {
    Row<T> row(layer, r);
    for (std::int64_t i = 0; i < layer.steps; ++i) {
      const std::int64_t step = layer.reverse ? layer.steps - 1 - i : i;
      row.advance(step);
      put(step, r, row.hidden());
    }
    put(layer.steps, r, row.hidden());
    if (layer.is_lstm()) put(layer.steps + 1, r, row.cell());
  }
  return result;
}

template <typename T>
class RecurrenceOf : public testing::Test {};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RecurrenceOf, Types);

template <typename T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-5 : 1e-13;

TYPED_TEST(RecurrenceOf, IsItsDefinition) {
  using T = TypeParam;
  const std::vector<LayerCase<T>> cases{
      {"lstm", 5, 3, 19, 19, false, true}, {"lstm", 4, 2, 33, 7, true, true},
      {"lstm", 1, 1, 1, 1, false, false},  {"gru", 6, 4, 17, 17, true, true},
      {"gru", 2, 1, 64, 64, false, false}, {"tanh", 7, 2, 40, 40, false, true},
      {"relu", 3, 5, 8, 8, true, false},   {"lstm", 2, 300, 32, 32, false, true},
      {"gru", 0, 2, 5, 5, false, true},    {"lstm", 0, 2, 6, 4, false, true},
  };
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    for (const LayerCase<T>& layer : cases) {
      const Result<Tensor> found = layer.run(set);
      ASSERT_TRUE(found) << found.error().message;
      const Values wanted = expected(layer);
      const auto values = found->template values<T>();
      ASSERT_EQ(values.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(values[i], wanted[i], kTolerance<T> * (1 + std::abs(wanted[i])))
            << layer.kind << " of " << layer.size << ", " << static_cast<int>(set) << ", " << i;
      }
    }
  }
}

TYPED_TEST(RecurrenceOf, LargeValuesSaturate) {
  using T = TypeParam;
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    for (const T x : {T{1e4}, std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity()}) {
      LayerCase<T> layer{"tanh", 1, 1, 2, 2, false, false};
      layer.gates = Tensor::of<T>({1, 1, 2}, {{x, -x}}).value();
      const auto tanh = values_of<T>(layer.run(set).value());
      EXPECT_EQ(tanh[0], 1);
      EXPECT_EQ(tanh[1], -1);
      LayerCase<T> gated{"lstm", 1, 1, 1, 1, false, false};
      gated.gates = Tensor::of<T>({1, 1, 4}, {{x, -x, x, x}}).value();
      const auto states = values_of<T>(gated.run(set).value());
      EXPECT_NEAR(states[2], 1, 1e-6);  // the cell state: only the input
    }
  }
}

TYPED_TEST(RecurrenceOf, WhatIsNotANumberStaysInItsRow) {
  using T = TypeParam;
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    for (const char* const kind : {"lstm", "gru", "tanh", "relu"}) {
      for (std::int64_t column = 0; column < 20; column += 5) {
        const LayerCase<T> layer{kind, 2, 2, 20, 20, false, true};
        auto* const gates = reinterpret_cast<T*>(layer.gates.mutable_bytes().data());
        gates[layer.columns() + column] = std::numeric_limits<T>::quiet_NaN();
        const Values found = values_of<T>(layer.run(set).value());
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_FALSE(std::isnan(found[i]));
          EXPECT_EQ(std::isnan(found[20 + i]), static_cast<std::int64_t>(i) == column) << kind;
          EXPECT_FALSE(std::isnan(found[40 + i]));
          EXPECT_TRUE(std::isnan(found[60 + i])) << kind;  // all depend on the hidden state
        }
      }
    }
  }
}

TYPED_TEST(RecurrenceOf, ARowIsBitForBitWhatItIsAlone) {
  using T = TypeParam;
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    const LayerCase<T> all{"lstm", 4, 5, 21, 13, false, true};
    const Values together = values_of<T>(all.run(set).value());
    for (std::int64_t row = 0; row < all.batch; ++row) {
      LayerCase<T> alone{"lstm", 4, 1, 21, 13, false, true};
      alone.gates = row_of<T>(all.gates, row, 1);
      alone.hidden = row_of<T>(all.hidden, row, 0);
      alone.cell = row_of<T>(all.cell.value_or(all.hidden), row, 0);
      const Values found = values_of<T>(alone.run(set).value());
      for (std::int64_t step = 0; step < all.steps + 2; ++step) {
        const auto of_all = together.begin() + (step * all.batch + row) * all.size;
        EXPECT_TRUE(std::equal(of_all, of_all + all.size, found.begin() + step * all.size)) << row;
      }
    }
  }
}

TYPED_TEST(RecurrenceOf, OfNoRowsIsNothing) {
  EXPECT_TRUE((LayerCase<TypeParam>{"lstm", 3, 0, 4, 4, false, true}.run(InstructionSet::kScalar)));
}

TEST(RecurrenceOfFloats, RefusesWhatDoesNotFit) {
  const auto message_of = [](const LayerCase<float>& layer) {
    const Result<Tensor> found = layer.run(InstructionSet::kScalar);
    return found ? std::string() : found.error().message;
  };
  const LayerCase<float> sound{"lstm", 2, 3, 8, 4, false, true};
  ASSERT_EQ(message_of(sound), "");
  const auto refused = [&](const char* word, auto change) {
    LayerCase<float> layer = sound;
    change(layer);
    EXPECT_NE(message_of(layer).find(word), std::string::npos) << word << ": " << message_of(layer);
  };
  refused("the kind is 'no'", [](auto& layer) { layer.kind = "no"; });
  refused("cell state", [](auto& layer) { layer.cell.reset(); });
  refused("hidden", [](auto& layer) { layer.hidden = random<float>({2, 4}, 1); });
  refused("hidden", [](auto& layer) { layer.projection.reset(); });
  refused("tiles", [](auto& layer) { layer.tiles = random<float>({2, 3, 16}, 1); });
  refused("bias", [](auto& layer) { layer.bias = random<float>({31}, 1); });
  refused("cell", [](auto& layer) { layer.cell = random<float>({3, 7}, 1); });
  refused("projection", [](auto& layer) { layer.projection = random<float>({1, 7, 16}, 1); });
  refused("hidden", [](auto& layer) { layer.hidden = random<double>({3, 4}, 1); });
  refused("gates", [](auto& layer) { layer.gates = random<float>({2, 3, 30}, 1); });
}

}  // namespace
}  // namespace polystate
