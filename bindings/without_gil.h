#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <utility>

namespace polystate::python {

// Takes the GIL back. Where the interpreter is going away, Python ends a thread that asks for the
// GIL by unwinding its stack, through destructors that need the interpreter: the thread waits here
// for the end of the process instead.
inline void take_gil_back(PyThreadState* thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {
    for (;;) ::pause();
  }
}

// What `work` returns; other threads run Python meanwhile, so `work` must not touch any object.
template <typename Work>
auto without_gil(Work work) {
  PyThreadState* const thread = PyEval_SaveThread();
  try {
    auto result = work();
    take_gil_back(thread);
    return result;
  } catch (...) {
    take_gil_back(thread);
    throw;
  }
}

}  // namespace polystate::python
