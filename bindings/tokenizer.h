#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "polystate/tokenizer/tokenizer.h"

namespace polystate::python {

// What `_core.Tokenizer` is. pybind11 holds no pointers to const.
struct TokenizerBinding {
  std::shared_ptr<const Tokenizer> tokenizer;
};

// Adds Tokenizer to the module.
void bind_tokenizer(pybind11::module_& module);

}  // namespace polystate::python
