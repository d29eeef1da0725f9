#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

namespace polystate::python {

// Lets other threads run Python while it exists.
class GilReleased {
 public:
  GilReleased() = default;
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
  // Where the interpreter is going away, Python ends a thread that asks for the GIL by unwinding
  // its stack, through destructors that need the interpreter: the thread waits here for the end of
  // the process instead.
  ~GilReleased() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      for (;;) ::pause();
    }
  }

 private:
  PyThreadState* thread_ = PyEval_SaveThread();
};

// What `work` returns; other threads run Python meanwhile, so `work` must not touch any object.
template <typename Work>
auto without_gil(Work work) {
  const GilReleased released;
  return work();
}

}  // namespace polystate::python
