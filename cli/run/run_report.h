#pragma once

#include <map>
#include <string>
#include <vector>

#include "polystate/core/tensor.h"

namespace polystate::cli {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// What one call gave.
struct CallResult {
  std::string method;
  std::vector<NamedTensor> outputs;
  std::vector<NamedTensor> written;  // inputs that the method mutated, as they are now
};

// The tensors for people, and as one line of JSON (docs/command_line.md lists the keys).
std::string results_text(const std::vector<CallResult>& results);
std::string results_json(const std::vector<CallResult>& results);

// The tensors under the names that an .npz file gets: NAME where there was one call,
// "call_000/NAME" where there were several. A mutated input whose name is taken becomes
// "input_NAME", with one more "input_" while that is taken too.
std::map<std::string, Tensor> results_entries(const std::vector<CallResult>& results);

}  // namespace polystate::cli
