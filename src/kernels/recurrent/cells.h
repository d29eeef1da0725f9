#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"

namespace polystate {

// The inner loops of recurrent layers, which exist once for every instruction set. T is float or
// double.

enum class Cell : std::uint8_t { kLstm, kGru, kTanh, kRelu };

// One row of a step. Sums and inputs have a gate after another, in PyTorch's order: input, forget,
// cell and output of an LSTM; reset, update and new of a GRU.
template <typename T>
struct CellRow {
  const T* sums;    // [gates, size]: the hidden state's products and the input's; GRU: without
  const T* inputs;  // GRU: [gates, size], the input's products
  const T* hidden;  // GRU: [size], the hidden state before the step
  T* cell;          // LSTM: [size], the cell state, before the step and then after it
  T* out;           // [size], the hidden state after the step; no other member's memory
};

// Computes a step of one row. A NaN stays in its column.
template <typename T>
using AdvanceCell = void (*)(const CellRow<T>& row, std::int64_t size);

template <typename T>
struct CellFunctions {
  AdvanceCell<T> lstm;
  AdvanceCell<T> gru;
  AdvanceCell<T> tanh;
  AdvanceCell<T> relu;
};

// What a layer is computed by.
template <typename T>
struct LayerFunctions {
  MultiplyPlain<T> multiply;  // without activations
  CellFunctions<T> cells;
};

}  // namespace polystate
