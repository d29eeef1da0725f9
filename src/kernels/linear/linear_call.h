#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/multiply.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"

namespace polystate {

// The arguments that products have whatever their weights are made of.
struct LinearCall {
  NamedTensor x;
  std::int64_t columns;
  std::optional<TensorArgument> bias;
  std::optional<TensorArgument> addend;
  std::string_view activation_name;
  TensorArgument out;  // made by `check_others`

  [[nodiscard]] int rank() const { return x.tensor.rank(); }
  [[nodiscard]] std::int64_t depth() const { return x.tensor.size(rank() - 1); }
  [[nodiscard]] std::int64_t rows() const {
    return depth() == 0 ? 0 : x.tensor.element_count() / depth();
  }

  // What they require: of rows, and, where the weights suit these, of all others.
  void check_rows(Requirements& require) const;
  void check_others(Requirements& require);

  // A product of rows from `row` on; after the checks.
  template <typename Rows, typename Weights>
  [[nodiscard]] Product<Rows, Weights> product(const Rows& rows, const Weights& weights,
                                               std::int64_t row) const {
    const std::int64_t place = row * columns;
    return {rows, weights, activation(), addend_data() ? addend_data() + place : nullptr,
            out.mutable_data<float>() + place};
  }

  [[nodiscard]] const float* bias_data() const;

 private:
  [[nodiscard]] Activation activation() const;
  [[nodiscard]] const float* addend_data() const;
};

// Requires as many columns as float32 tiles may have.
void require_columns(Requirements& require, std::int64_t columns, const NamedTensor& tiles);

// Bytes of weights in float32 or float64 that are multiplied with a row in a nanosecond.
inline constexpr std::int64_t kFloatBytesMultiplied = 400;

// How long a product takes.
struct ProductCost {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t tile_bytes;
  std::int64_t bytes_multiplied;  // of a row's weights, in a nanosecond
};

// Calls `multiply(first row, last row, tiles)` for blocks that make up a product, on as many
// threads as are worth it.
void multiply_in_blocks(
    const ProductCost& cost,
    const std::function<void(std::int64_t first, std::int64_t last, TileRange tiles)>& multiply);

// How many rows of so many values are worth a thread that makes them values of 8 bits.
std::int64_t quantized_rows_of_a_thread(std::int64_t depth);

// Calls `quantize(row, values)` for each row of x, on as many threads as are worth it.
template <typename Quantize>
void quantize_rows(const LinearCall& call, const Quantize& quantize) {
  const float* const x = call.x.tensor.data<float>();
  const std::int64_t depth = call.depth();
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) quantize(row, x + row * depth);
  };
  // std::function holds a reference without an allocation.
  parallel_for(call.rows(), quantized_rows_of_a_thread(depth), std::cref(run));
}

// Memory that is used again and again: allocated anew, it would be cleared each time. What a long
// prompt needed is given back when many calls in turn, those of a few tokens' steps, need far less.
class Scratch {
 public:
  // Bytes to write to, until the next call.
  std::uint8_t* bytes(std::size_t size);

  [[nodiscard]] std::size_t capacity() const { return memory_.capacity(); }

  static constexpr int kCalls = 64;                 // whose needs are compared with what there is
  static constexpr std::size_t kKept = 16'777'216;  // bytes that are kept whatever calls need
  static constexpr std::size_t kFewer = 8;          // how many times less makes it worth it

 private:
  std::vector<std::uint8_t> memory_;
  std::size_t most_ = 0;  // that one of these calls needed
  int calls_ = 0;
};

// The calling thread's, until its next call.
std::uint8_t* scratch_bytes(std::size_t size);

}  // namespace polystate
