#include "process.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "polystate/core/result.h"
#include "raise.h"

namespace polystate::python {

void check_process() {
  // Of the process, as the engine's pool of threads is; 0 before the first model is opened.
  static std::atomic<pid_t> owner = 0;
  const pid_t self = getpid();
  pid_t expected = 0;
  if (owner.compare_exchange_strong(expected, self) || expected == self) return;
  raise({ErrorCode::kUnsupported,
         "process " + std::to_string(self) + " was forked from process " +
             std::to_string(expected) +
             ", which had opened a model, and the engine's threads are not in it: load the model "
             "after the fork, or start processes with multiprocessing's 'spawn'"});
}

}  // namespace polystate::python
