#pragma once

#include <utility>

#include "polystate/core/result.h"

namespace polystate::python {

// Throws the exception of polystate.errors that belongs to the error's code. The GIL is held.
[[noreturn]] void raise(const Error& error);

// The value, or the error as an exception.
template <typename T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

inline void unwrap(const Status& status) {
  if (!status) raise(status.error());
}

}  // namespace polystate::python
