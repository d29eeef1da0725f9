#pragma once

#include <string>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {

// One call as the user typed it. An input is NAME=VALUE, where VALUE is an .npy file, an .npz file
// that holds NAME, or a literal (literal.h); or just an .npz file, whose entries are all inputs.
struct CallArguments {
  std::string method;
  std::vector<std::string> inputs;
};

// Why `input` is not of the form above, empty where it is.
std::string input_fault(const std::string& input);

// The tensors of a call in the manifest's order; they are writable. kContract, naming method and
// input, when one is missing, given twice or unknown, or its value cannot be read. Whether they fit
// the contract is the session's to say.
Result<std::vector<Tensor>> read_inputs(const MethodSpec& method, const CallArguments& arguments);

}  // namespace polystate::cli
