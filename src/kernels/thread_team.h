#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace polystate {

// Threads that work on one thing at a time, together with the one that asks for it. A step of a
// model is hundreds of small pieces of work with microseconds between them, so that a worker
// watches for the next one for a while before it sleeps.
class ThreadTeam {
 public:
  // A team of `size` threads, of which the caller of `run` is one; of fewer where the system gives
  // no more threads or memory.
  explicit ThreadTeam(std::size_t size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] std::size_t size() const { return workers_.size() + 1; }

  // Calls `task`, which does not throw, with 0 on this thread and with 1 to `helpers` at the most
  // on others at the same time, always the same ones, and returns when every call has. A worker
  // that is late is not waited for: `task` takes whatever is left to do. Not for two threads at
  // once.
  void run(std::size_t helpers, const std::function<void(std::size_t number)>& task);

 private:
  struct alignas(64) Worker {
    std::atomic<std::uint32_t> called_for = 0;  // the number of a run
    std::thread thread;
  };

  // False where there is no thread for it, or no memory. It throws nothing: a constructor that
  // throws would destroy threads that still run, and that would end the program.
  bool add_worker();
  void work(std::size_t number, const std::atomic<std::uint32_t>& called_for);
  bool join(std::uint32_t run);
  void call(std::size_t helpers);

  // The number of the run, whether nobody may join it any more, how many workers have and are at
  // its task.
  static constexpr std::uint64_t kClosed = 1ULL << 31U;
  static constexpr unsigned kRunBits = 32;
  alignas(64) std::atomic<std::uint64_t> at_work_ = kClosed;

  alignas(64) const std::function<void(std::size_t number)>* task_ = nullptr;
  std::uint32_t run_ = 0;
  std::atomic<bool> ended_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace polystate
