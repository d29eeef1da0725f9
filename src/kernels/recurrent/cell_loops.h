#pragma once

#include <cstdint>

#include "kernels/recurrent/cells.h"
#include "kernels/vectors/vector_math.h"

// The loops of recurrent cells in float32 over the vectors `S` of an instruction set, as templates
// over a type that is local to the file that includes them (vector_math.h says why).
namespace polystate::recurrent {

// A vector's worth of columns, or the last ones, which are fewer.
template <typename S>
struct Columns {
  std::int64_t first;
  std::int64_t count;

  [[nodiscard]] typename S::Vector load(const float* row) const {
    return count < S::kWidth ? S::load_some(row + first, count) : S::load(row + first);
  }
  void store(float* row, typename S::Vector x) const {
    if (count < S::kWidth) {
      S::store_some(row + first, x, count);
    } else {
      S::store(row + first, x);
    }
  }
};

template <typename S, typename Step>
void for_columns(std::int64_t size, const Step& step) {
  for (std::int64_t first = 0; first < size; first += S::kWidth) {
    step(Columns<S>{first, size - first < S::kWidth ? size - first : S::kWidth});
  }
}

template <typename S>
void advance_lstm(const CellRow<float>& row, std::int64_t size) {
  for_columns<S>(size, [&](Columns<S> columns) {
    const auto input = vectors::sigmoid<S>(columns.load(row.sums));
    const auto forget = vectors::sigmoid<S>(columns.load(row.sums + size));
    const auto added = vectors::tanh<S>(columns.load(row.sums + 2 * size));
    const auto output = vectors::sigmoid<S>(columns.load(row.sums + 3 * size));
    const auto kept = S::multiply(forget, columns.load(row.cell));
    const auto cell = S::multiply_add(input, added, kept);
    columns.store(row.cell, cell);
    columns.store(row.out, S::multiply(output, vectors::tanh<S>(cell)));
  });
}

template <typename S>
void advance_gru(const CellRow<float>& row, std::int64_t size) {
  for_columns<S>(size, [&](Columns<S> columns) {
    const auto gate = [&](std::int64_t number) {
      const float* const inputs = row.inputs + number * size;
      return S::add(columns.load(inputs), columns.load(row.sums + number * size));
    };
    const auto reset = vectors::sigmoid<S>(gate(0));
    const auto update = vectors::sigmoid<S>(gate(1));
    const auto sum = columns.load(row.sums + 2 * size);
    const auto fresh =
        vectors::tanh<S>(S::multiply_add(reset, sum, columns.load(row.inputs + 2 * size)));
    const auto distance = S::subtract(columns.load(row.hidden), fresh);
    columns.store(row.out, S::multiply_add(distance, update, fresh));
  });
}

template <typename S>
void advance_tanh(const CellRow<float>& row, std::int64_t size) {
  for_columns<S>(size, [&](Columns<S> columns) {
    columns.store(row.out, vectors::tanh<S>(columns.load(row.sums)));
  });
}

template <typename S>
void advance_relu(const CellRow<float>& row, std::int64_t size) {
  for_columns<S>(size, [&](Columns<S> columns) {
    // The second where one is NaN.
    columns.store(row.out, S::max(S::set(0), columns.load(row.sums)));
  });
}

template <typename S>
CellFunctions<float> cell_functions() {
  return {&advance_lstm<S>, &advance_gru<S>, &advance_tanh<S>, &advance_relu<S>};
}

}  // namespace polystate::recurrent
