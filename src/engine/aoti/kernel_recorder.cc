#include "engine/aoti/kernel_recorder.h"

#include <ATen/record_function.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <ratio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace polystate {
namespace {

double microseconds(KernelRecorder::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

// What libtorch calls when a kernel, or an operator of its own, begins and ends: functions that
// know nothing but the thread.
struct KernelCallbacks {
  struct Kernel final : at::ObserverContext {
    std::size_t event = 0;
  };

  // The recorder of the call that this thread runs.
  static thread_local KernelRecorder* recorder;
  // How many kernels have begun and not ended: a kernel's own operators are not told apart.
  static thread_local std::size_t depth;

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (recorder == nullptr || depth++ > 0) return nullptr;
    auto kernel = std::make_unique<Kernel>();
    kernel->event = recorder->events_.size();
    recorder->events_.push_back({.name = function.name()});
    KernelRecorder::Event& event = recorder->events_.back();
    event.begin = event.end = KernelRecorder::Clock::now();
    return kernel;
  }

  static void end(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
    if (recorder == nullptr) return;
    --depth;
    if (context == nullptr) return;
    const std::size_t event = static_cast<Kernel*>(context)->event;
    recorder->events_[event].end = KernelRecorder::Clock::now();
  }
};

thread_local KernelRecorder* KernelCallbacks::recorder = nullptr;
thread_local std::size_t KernelCallbacks::depth = 0;

KernelRecorder::Call::Call(KernelRecorder& recorder, const std::string& method)
    : recorder_(&recorder), event_(recorder.events_.size()) {
  KernelCallbacks::recorder = recorder_;
  KernelCallbacks::depth = 0;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&KernelCallbacks::begin, &KernelCallbacks::end)
          .scopes({at::RecordScope::FUNCTION}));
  recorder.events_.push_back({.name = method, .is_method = true});
  Event& event = recorder.events_.back();
  event.begin = event.end = Clock::now();
}

KernelRecorder::Call::~Call() {
  recorder_->events_[event_].end = Clock::now();
  at::removeCallback(callback_);
  KernelCallbacks::recorder = nullptr;
}

std::vector<std::byte> KernelRecorder::take() {
  if (events_.empty()) return {};
  nlohmann::ordered_json trace = nlohmann::ordered_json::array();
  for (const Event& event : events_) {
    trace.push_back({{"name", event.name},
                     {"cat", event.is_method ? "method" : "kernel"},
                     {"ph", "X"},
                     {"ts", microseconds(event.begin - events_.front().begin)},
                     {"dur", microseconds(event.end - event.begin)},
                     {"pid", 0},
                     {"tid", 0}});
  }
  events_.clear();
  const nlohmann::ordered_json document = {{"displayTimeUnit", "ns"},
                                           {"traceEvents", std::move(trace)}};
  const std::string text =
      document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace polystate
