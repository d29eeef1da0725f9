#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "kernels/linear/linear_call.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cells.h"
#include "kernels/recurrent/operators.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// From so many columns of cells on, another thread saves more time than it costs to wake.
constexpr std::int64_t kColumnsWorthAThread = 2'048;

std::optional<Cell> cell_named(std::string_view name) {
  if (name == "lstm") return Cell::kLstm;
  if (name == "gru") return Cell::kGru;
  if (name == "tanh") return Cell::kTanh;
  if (name == "relu") return Cell::kRelu;
  return std::nullopt;
}

std::int64_t gate_count(Cell kind) {
  switch (kind) {
    case Cell::kLstm:
      return 4;
    case Cell::kGru:
      return 3;
    case Cell::kTanh:
    case Cell::kRelu:
      return 1;
  }
  __builtin_unreachable();
}

template <typename T>
AdvanceCell<T> function_of(Cell kind, const CellFunctions<T>& functions) {
  switch (kind) {
    case Cell::kLstm:
      return functions.lstm;
    case Cell::kGru:
      return functions.gru;
    case Cell::kTanh:
      return functions.tanh;
    case Cell::kRelu:
      return functions.relu;
  }
  __builtin_unreachable();
}

template <typename T>
const T* data_or_null(const std::optional<TensorArgument>& tensor) {
  return tensor ? tensor->data<T>() : nullptr;
}

struct Call {
  NamedTensor gates;   // [steps, batch, gates * size]: the input's products
  NamedTensor hidden;  // [batch, width]: the hidden state before the first step
  std::optional<TensorArgument> cell;
  NamedTensor tiles;
  std::optional<TensorArgument> bias;
  std::optional<TensorArgument> projection;
  std::string_view kind_name;
  bool reverse;
  Cell kind = Cell::kLstm;  // set by `check`, as is the result
  TensorArgument out;       // [steps + states, batch, size]: each step's, then the last states

  [[nodiscard]] DType dtype() const { return gates.tensor.dtype(); }
  [[nodiscard]] std::int64_t steps() const { return gates.tensor.size(0); }
  [[nodiscard]] std::int64_t batch() const { return gates.tensor.size(1); }
  [[nodiscard]] std::int64_t columns() const { return gates.tensor.size(2); }
  [[nodiscard]] std::int64_t size() const { return columns() / gate_count(kind); }
  [[nodiscard]] std::int64_t width() const { return hidden.tensor.size(1); }
  [[nodiscard]] std::int64_t step_size() const { return batch() * size(); }
  // The hidden state, and an LSTM's cell state.
  [[nodiscard]] std::int64_t states() const { return kind == Cell::kLstm ? 2 : 1; }
};

void check_optional(Requirements& require, const char* name,
                    const std::optional<TensorArgument>& tensor, DType dtype,
                    const std::vector<std::int64_t>& shape) {
  if (!tensor) return;
  const NamedTensor given{name, *tensor};
  require.of_type(given, dtype, static_cast<int>(shape.size()));
  require.shape(given, shape);
}

Status check(Requirements& require, Call& call) {
  const std::optional<Cell> kind = cell_named(call.kind_name);
  require.holds(kind.has_value(), "the kind is '" + std::string(call.kind_name) +
                                      "'; it may be lstm, gru, tanh or relu");
  call.kind = kind.value_or(Cell::kTanh);
  const DType dtype = call.dtype();
  require.holds(dtype == DType::kFloat32 || dtype == DType::kFloat64,
                "gates are " + std::string(name_of(dtype)) + "; they may be float32 or float64");
  require.of_type(call.gates, dtype, 3);
  require.of_type(call.hidden, dtype, 2);
  require.of_type(call.tiles, dtype, 3);
  require.holds(call.size() > 0 && call.columns() == call.size() * gate_count(call.kind),
                "gates have " + std::to_string(call.columns()) + " columns; they must have " +
                    std::to_string(gate_count(call.kind)) + " times those of a state");
  require.shape(call.hidden, {call.batch(), call.projection ? call.width() : call.size()});
  require.holds(call.width() > 0 && call.width() <= call.size(),
                "hidden has " + std::to_string(call.width()) + " columns; it may have 1 to " +
                    std::to_string(call.size()));
  require.holds(call.cell.has_value() == (call.kind == Cell::kLstm),
                "an LSTM has a cell state, and no other kind");
  require.holds(!call.projection || call.kind == Cell::kLstm, "only an LSTM has a projection");
  require.shape(call.tiles, {tile_count(call.columns()), call.width(), kTileColumns});
  check_optional(require, "cell", call.cell, dtype, {call.batch(), call.size()});
  check_optional(require, "bias", call.bias, dtype, {call.columns()});
  check_optional(require, "projection", call.projection, dtype,
                 {tile_count(call.width()), call.size(), kTileColumns});
  const std::vector<std::int64_t> shape{call.steps() + call.states(), call.batch(), call.size()};
  call.out = require.result(dtype, shape);
  return require.status();
}

template <typename T>
void multiply_rows(const PlainProduct<T>& product, std::int64_t count, MultiplyPlain<T> multiply) {
  const PlainWeights<T>& weights = product.weights;
  const ProductCost cost{.rows = count,
                         .columns = weights.columns,
                         .tile_bytes = weights.tile_size() * std::int64_t{sizeof(T)},
                         .bytes_multiplied = kFloatBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange tiles) {
    PlainProduct<T> some = product;
    some.rows.values += first * some.rows.stride;
    if (some.addend != nullptr) some.addend += first * weights.columns;
    some.out += first * weights.columns;
    multiply(some, last - first, tiles);
  });
}

template <typename T>
std::vector<T> scratch(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count));
}

// A layer's steps, in the order in which they depend on one another.
template <typename T>
class Layer {
 public:
  Layer(const Call& call, const LayerFunctions<T>& functions)
      : call_(call),
        functions_(functions),
        sums_(scratch<T>(call.batch() * call.columns())),
        unprojected_(scratch<T>(call.projection ? call.step_size() : 0)),
        projected_(scratch<T>(call.projection ? call.batch() * call.width() : 0)) {}

  void run() {
    if (call_.cell) std::copy_n(call_.cell->data<T>(), call_.step_size(), cell_out());
    PlainRows<T> hidden{call_.hidden.tensor.data<T>(), call_.width()};
    for (std::int64_t i = 0; i < call_.steps(); ++i) {
      const std::int64_t step = call_.reverse ? call_.steps() - 1 - i : i;
      multiply(hidden, step);
      advance(hidden, step);
      if (call_.projection) project(*call_.projection, step);
      hidden = {step_out(step), call_.size()};
    }
    store(hidden, call_.steps());
  }

 private:
  [[nodiscard]] T* step_out(std::int64_t step) const {
    return call_.out.mutable_data<T>() + step * call_.step_size();
  }
  [[nodiscard]] T* cell_out() const { return step_out(call_.steps() + 1); }

  [[nodiscard]] const T* inputs(std::int64_t step) const {
    return call_.gates.tensor.data<T>() + step * call_.batch() * call_.columns();
  }

  void multiply(const PlainRows<T>& hidden, std::int64_t step) {
    const PlainWeights<T> weights{.tiles = call_.tiles.tensor.data<T>(),
                                  .bias = data_or_null<T>(call_.bias),
                                  .columns = call_.columns(),
                                  .depth = call_.width()};
    const T* const addend = call_.kind == Cell::kGru ? nullptr : inputs(step);
    multiply_rows<T>({hidden, weights, Activation::kNone, addend, sums_.data()}, call_.batch(),
                     functions_.multiply);
  }

  void advance(const PlainRows<T>& hidden, std::int64_t step) {
    const AdvanceCell<T> function = function_of(call_.kind, functions_.cells);
    const std::int64_t size = call_.size();
    const std::int64_t columns = call_.columns();
    assert(size > 0);
    T* const out = call_.projection ? unprojected_.data() : step_out(step);
    T* const cell = call_.cell ? cell_out() : nullptr;
    const auto advance_rows = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        function({.sums = sums_.data() + row * columns,
                  .inputs = inputs(step) + row * columns,
                  .hidden = hidden.values + row * hidden.stride,
                  .cell = cell == nullptr ? nullptr : cell + row * size,
                  .out = out + row * size},
                 size);
      }
    };
    parallel_for(call_.batch(), 1 + kColumnsWorthAThread / size, advance_rows);
  }

  void project(const TensorArgument& projection, std::int64_t step) {
    const std::int64_t size = call_.size();
    const std::int64_t width = call_.width();
    const PlainWeights<T> weights{
        .tiles = projection.data<T>(), .bias = nullptr, .columns = width, .depth = size};
    const PlainRows<T> rows{unprojected_.data(), size};
    multiply_rows<T>({rows, weights, Activation::kNone, nullptr, projected_.data()}, call_.batch(),
                     functions_.multiply);
    store({projected_.data(), width}, step);
  }

  void store(const PlainRows<T>& hidden, std::int64_t step) {
    const std::int64_t width = call_.width();
    for (std::int64_t row = 0; row < call_.batch(); ++row) {
      T* const out = step_out(step) + row * call_.size();
      std::copy_n(hidden.values + row * hidden.stride, width, out);
      std::fill(out + width, out + call_.size(), T{0});
    }
  }

  const Call& call_;
  const LayerFunctions<T>& functions_;
  std::vector<T> sums_;         // [batch, gates * size]
  std::vector<T> unprojected_;  // [batch, size]
  std::vector<T> projected_;    // [batch, width]
};

}  // namespace

Status recurrence(Arguments& arguments, const RecurrentFunctions& functions) {
  Call call{.gates = {"gates", arguments.tensor(0)},
            .hidden = {"hidden", arguments.tensor(1)},
            .cell = arguments.optional_tensor(2),
            .tiles = {"tiles", arguments.tensor(3)},
            .bias = arguments.optional_tensor(4),
            .projection = arguments.optional_tensor(5),
            .kind_name = arguments.text(6),
            .reverse = arguments.boolean(7),
            .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call); !checked) return checked;
  if (call.step_size() == 0) return {};
  if (call.dtype() == DType::kFloat64) {
    Layer<double>(call, functions.doubles).run();
  } else {
    Layer<float>(call, functions.floats).run();
  }
  return {};
}

Status Recurrence::run(Arguments& arguments) {
  static const RecurrentFunctions fastest{.floats = functions_of_floats(best_instruction_set()),
                                          .doubles = functions_of_doubles(best_instruction_set())};
  return recurrence(arguments, fastest);
}

}  // namespace polystate
