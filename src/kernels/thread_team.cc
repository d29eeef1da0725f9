#include "kernels/thread_team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

namespace polystate {
namespace {

// Longer than the pauses within a step and between two of them; to wake a thread takes as long.
constexpr std::chrono::microseconds kWatch{200};
constexpr int kLooksBeforeYielding = 64;

// Tells the processor that this thread waits for another.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks until `is_so` holds, and lets others have the processor now and then: whoever is waited for
// may need it.
template <typename IsSo>
void wait_until(const IsSo& is_so) {
  for (;;) {
    for (int look = 0; look < kLooksBeforeYielding; ++look) {
      if (is_so()) return;
      relax();
    }
    std::this_thread::yield();
  }
}

}  // namespace

ThreadTeam::ThreadTeam(std::size_t size) {
  while (this->size() < size && add_worker()) {
  }
}

bool ThreadTeam::add_worker() {
  const std::size_t number = size();
  try {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    worker.thread = std::thread([this, number, &worker] { work(number, worker.called_for); });
    return true;
  } catch (const std::exception&) {
    workers_.resize(number - 1);  // the worker may be there without a thread
    return false;
  }
}

ThreadTeam::~ThreadTeam() {
  ended_ = true;
  ++run_;
  call(workers_.size());
  for (const auto& worker : workers_) worker->thread.join();
}

void ThreadTeam::run(std::size_t helpers, const std::function<void(std::size_t number)>& task) {
  task_ = &task;
  const std::uint64_t run = std::uint64_t{++run_} << kRunBits;
  at_work_.store(run, std::memory_order_release);
  call(std::min(helpers, workers_.size()));
  task(0);
  at_work_.fetch_or(kClosed, std::memory_order_acq_rel);
  wait_until([&] { return at_work_.load(std::memory_order_acquire) == (run | kClosed); });
}

void ThreadTeam::call(std::size_t helpers) {
  for (std::size_t i = 0; i < helpers; ++i) {
    workers_[i]->called_for = run_;
    workers_[i]->called_for.notify_one();
  }
}

bool ThreadTeam::join(std::uint32_t run) {
  std::uint64_t found = at_work_.load(std::memory_order_relaxed);
  while (found >> kRunBits == run && (found & kClosed) == 0) {
    if (at_work_.compare_exchange_weak(found, found + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      return true;
  }
  return false;
}

void ThreadTeam::work(std::size_t number, const std::atomic<std::uint32_t>& called_for) {
  std::uint32_t answered = 0;
  while (true) {
    const auto end = std::chrono::steady_clock::now() + kWatch;
    wait_until([&] { return called_for != answered || std::chrono::steady_clock::now() > end; });
    called_for.wait(answered);
    answered = called_for;
    if (ended_) return;
    if (!join(answered)) continue;
    (*task_)(number);
    at_work_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace polystate
