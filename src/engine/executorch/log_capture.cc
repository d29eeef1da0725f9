#include "engine/executorch/log_capture.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/runtime/platform/types.h>

#include <cstddef>
#include <mutex>
#include <string_view>

namespace polystate {
namespace {

using executorch::runtime::PalImpl;

// What follows the first two errors of a failure repeats them with less detail.
constexpr int kMaxErrors = 2;

thread_local LogCapture* innermost = nullptr;

// Where messages went before; written once, before our sink is installed.
decltype(PalImpl::emit_log_message) previous_sink = nullptr;

// NOLINTNEXTLINE(readability-function-size): the signature is ExecuTorch's
void sink(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file,
          const char* function, std::size_t line, const char* message, std::size_t length) {
  if (innermost == nullptr) {
    if (previous_sink != nullptr) {
      previous_sink(timestamp, level, file, function, line, message, length);
    }
  } else if (level == kError || level == kFatal) {
    innermost->add_error({message, length});
  }
}

}  // namespace

void install_log_capture() {
  static std::once_flag once;
  std::call_once(once, [] {
    previous_sink = executorch::runtime::get_pal_impl()->emit_log_message;
    executorch::runtime::register_pal(PalImpl::create(&sink, "polystate"));
    executorch::runtime::runtime_init();
  });
}

LogCapture::LogCapture() : outer_(innermost) { innermost = this; }

LogCapture::~LogCapture() { innermost = outer_; }

void LogCapture::add_error(std::string_view message) {
  if (count_ < kMaxErrors) {
    errors_.append(count_ == 0 ? "" : "; ").append(message);
    ++count_;
  }
}

}  // namespace polystate
