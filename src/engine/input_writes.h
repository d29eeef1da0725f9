#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// The new values of the inputs that a method mutates. What is written may lie in the memory of an
// input that is written too, so all are copies before the first is written.
class InputWrites {
 public:
  using CopyOutput = std::function<Result<Tensor>(std::size_t program_output)>;

  // kEngine where an output does not fit the input that it is for.
  static Result<InputWrites> collect(const MethodSpec& spec, std::span<const Tensor> inputs,
                                     const CopyOutput& copy_output);

  void apply(std::span<const Tensor> inputs) const;

 private:
  std::vector<std::pair<std::size_t, Tensor>> values_;  // by input
};

}  // namespace polystate
