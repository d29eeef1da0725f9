#pragma once

#include <cstdint>

namespace polystate {

// The inner loops of recurrent layers, which exist once for every instruction set.

enum class Cell : std::uint8_t { kLstm, kGru, kTanh, kRelu };

// One row of a step. Sums and inputs have a gate after another, in PyTorch's order: input, forget,
// cell and output of an LSTM; reset, update and new of a GRU.
struct CellRow {
  const float* sums;    // [gates, size]: the hidden state's products and the input's; GRU: without
  const float* inputs;  // GRU: [gates, size], the input's products
  const float* hidden;  // GRU: [size], the hidden state before the step
  float* cell;          // LSTM: [size], the cell state, before the step and then after it
  float* out;           // [size], the hidden state after the step; no other member's memory
};

// Computes a step of one row. A NaN stays in its column.
using AdvanceCell = void (*)(const CellRow& row, std::int64_t size);

struct CellFunctions {
  AdvanceCell lstm;
  AdvanceCell gru;
  AdvanceCell tanh;
  AdvanceCell relu;
};

}  // namespace polystate
