#include "crash.h"

#include <execinfo.h>
#include <pybind11/pybind11.h>
#include <signal.h>  // sigaction, which is POSIX's
#include <unistd.h>

#include <array>

namespace polystate::python {
namespace {

// Writes without allocating; the handler was reset, so that the signal then ends the process.
void tell(int signal) {
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  (void)::raise(signal);
}

void report_crashes() {
  std::array<void*, 1> frame{};
  (void)backtrace(frame.data(), 1);  // loads what it needs, which a handler must not
  struct sigaction action{};
  action.sa_handler = tell;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    (void)::sigaction(signal, &action, nullptr);
}

}  // namespace

void bind_crash(pybind11::module_& module) { module.def("report_crashes", &report_crashes); }

}  // namespace polystate::python
