#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/thread_team.h"

namespace polystate {
namespace {

std::atomic<std::int64_t>& thread_limit() {
  static std::atomic<std::int64_t> limit = std::max(1U, std::thread::hardware_concurrency());
  return limit;
}

std::atomic<TeamRun>& other_team() {
  static std::atomic<TeamRun> run = nullptr;
  return run;
}

thread_local std::int64_t serial_scopes = 0;

// Ranges of a thread, where there is enough to do: what one thread reads should lie together.
constexpr std::int64_t kRanges = 8;

std::int64_t divided(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// The ranges of one thread.
struct alignas(64) Share {
  std::atomic<std::int64_t> next;
  std::int64_t last;
};

std::int64_t share_start(std::size_t number, std::size_t shares, std::int64_t ranges) {
  return static_cast<std::int64_t>(number) * ranges / static_cast<std::int64_t>(shares);
}

// The team of the process, while this thread has it to itself. Only one thread can.
class Team {
 public:
  Team() : is_mine_(!is_taken_.exchange(true, std::memory_order_acquire)) {}
  ~Team() {
    if (is_mine_) is_taken_.store(false, std::memory_order_release);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] bool is_mine() const { return is_mine_; }

  void run(std::int64_t threads, std::size_t helpers,
           const std::function<void(std::size_t number)>& task) const {
    const TeamRun run_other = other_team().load(std::memory_order_relaxed);
    if (run_other != nullptr) {
      run_other(threads, task);
    } else {
      of(threads).run(helpers, task);
    }
  }

 private:
  static ThreadTeam& of(std::int64_t threads) {
    // Not destroyed at the process's end, where its threads may be gone already.
    static auto& team = *new std::unique_ptr<ThreadTeam>;
    static std::int64_t asked_for = 0;
    if (asked_for != threads) {
      asked_for = 0;  // until there is one: to make it may throw
      team.reset();
      team = std::make_unique<ThreadTeam>(static_cast<std::size_t>(threads));
      asked_for = threads;
    }
    return *team;
  }

  static inline std::atomic<bool> is_taken_ = false;
  bool is_mine_;
};

// Has the team do the work, unless another caller has it.
bool spread(std::int64_t count, std::int64_t grain, std::int64_t threads,
            const std::function<void(std::int64_t first, std::int64_t last)>& work) {
  const Team team;
  if (!team.is_mine()) return false;
  // A multiple of the grain: what belongs together stays together.
  const std::int64_t size = divided(count, threads * kRanges * grain) * grain;
  const std::int64_t ranges = divided(count, size);
  const auto workers = static_cast<std::size_t>(std::min(threads, ranges));
  std::vector<Share> shares(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    shares[i].next = share_start(i, workers, ranges);
    shares[i].last = share_start(i + 1, workers, ranges);
  }
  std::atomic<bool> has_failed = false;
  std::exception_ptr failure;
  // Its own share first, then what others have left.
  const auto take_ranges = [&](std::size_t number) {
    try {
      for (std::size_t i = 0; i < workers; ++i) {
        Share& share = shares[(number + i) % workers];
        for (std::int64_t range = share.next++; range < share.last; range = share.next++) {
          work(range * size, std::min(count, (range + 1) * size));
        }
      }
    } catch (...) {
      if (!has_failed.exchange(true)) failure = std::current_exception();
    }
  };
  team.run(threads, workers - 1, take_ranges);
  if (failure) std::rethrow_exception(failure);
  return true;
}

}  // namespace

std::int64_t thread_count() {
  return serial_scopes > 0 ? 1 : thread_limit().load(std::memory_order_relaxed);
}

void use_threads(std::int64_t count) {
  thread_limit().store(std::max<std::int64_t>(count, 1), std::memory_order_relaxed);
}

void use_team(TeamRun run) { other_team().store(run, std::memory_order_relaxed); }

SerialKernels::SerialKernels() { ++serial_scopes; }
SerialKernels::~SerialKernels() { --serial_scopes; }

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& work) {
  if (count <= 0) return;
  const std::int64_t threads = count <= grain ? 1 : thread_count();
  if (threads == 1 || !spread(count, grain, threads, work)) work(0, count);
}

}  // namespace polystate
