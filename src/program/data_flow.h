#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace polystate::program {

// The values that an instruction reads and writes, each once; those of its lists in their place.
struct Uses {
  std::vector<std::size_t> reads = {};
  std::vector<std::size_t> writes = {};
};

// Those of each instruction of a method. A program does not say which arguments a kernel or a
// delegate writes; the rules of the emitter (exir/emit) do: a kernel's last argument is what it
// returns, which is among the others where that was given to it, and a delegate's outputs are what
// nothing has given a value before.
std::vector<Uses> uses_of(const Method& method);

// For each value the first one at its place in the state's arena, for others themselves: views of a
// state are the state.
std::vector<std::size_t> state_values(const Method& method);

// The tensor that a value is; nullptr for others.
const Tensor* tensor_of(const Method& method, std::size_t value);

bool is_state(const Tensor& tensor);
// Where it lies in its arena; 0 where it has no place.
std::uint64_t offset_of(const Tensor& tensor);
// Whether its elements are in the file, and nothing writes them.
bool is_constant(const Tensor& tensor);

// What an operator only moves, as far as its name tells ("aten::permute_copy.out").
bool only_copies(std::string_view operator_name);

}  // namespace polystate::program
