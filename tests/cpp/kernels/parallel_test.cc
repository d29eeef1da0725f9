#include "kernels/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/thread_team.h"

namespace polystate {
namespace {

// Longer than a worker watches for work before it sleeps.
constexpr std::chrono::milliseconds kAWhile{3};

TEST(ThreadTeam, CallsATaskOnceForEachNumberAtTheMostAndWaitsForAllCalls) {
  for (const std::size_t size : {1U, 2U, 5U}) {
    ThreadTeam team(size);
    ASSERT_EQ(team.size(), size);
    for (int run = 0; run < 500; ++run) {
      std::vector<std::atomic<int>> begun(size);
      std::vector<std::atomic<int>> ended(size);
      team.run(size - 1, [&](std::size_t number) {
        ++begun[number];
        ++ended[number];
      });
      EXPECT_EQ(ended[0], 1);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_LE(begun[i], 1);
        EXPECT_EQ(ended[i], begun[i]);
      }
    }
  }
}

TEST(ThreadTeam, CallsNoMoreHelpersThanAskedFor) {
  ThreadTeam team(4);
  for (int run = 0; run < 200; ++run) {
    team.run(1, [](std::size_t number) { EXPECT_LT(number, 2U); });
  }
}

TEST(ThreadTeam, ThatSleepsComesWhenItIsCalled) {
  ThreadTeam team(3);
  for (int run = 0; run < 5; ++run) {
    std::this_thread::sleep_for(kAWhile);
    std::atomic<int> calls = 0;
    team.run(2, [&](std::size_t) {
      ++calls;
      while (calls < 3) std::this_thread::yield();
    });
    EXPECT_EQ(calls, 3);
  }
}

TEST(ThreadTeam, EndsWhetherItSleepsOrNot) {
  for (int i = 0; i < 50; ++i) const ThreadTeam team(3);
  const ThreadTeam team(3);
  std::this_thread::sleep_for(kAWhile);
}

// How often each number is worked on.
std::vector<std::atomic<int>> visits(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> found(static_cast<std::size_t>(count));
  parallel_for(count, grain, [&](std::int64_t first, std::int64_t last) {
    EXPECT_EQ(first % grain, 0);
    EXPECT_TRUE(last == count || last % grain == 0);
    for (std::int64_t i = first; i < last; ++i) ++found[static_cast<std::size_t>(i)];
  });
  return found;
}

TEST(ParallelFor, WorksOnEachNumberOnce) {
  for (const auto& [count, grain] : std::vector<std::tuple<std::int64_t, std::int64_t>>{
           {0, 1}, {1, 1}, {7, 1}, {7, 3}, {100, 7}, {1000, 1}, {1000, 999}, {1000, 1000}}) {
    for (const auto& each : visits(count, grain)) EXPECT_EQ(each, 1);
  }
}

TEST(ParallelFor, StaysOnAThreadThatIsToBeTheOnlyOne) {
  const SerialKernels serial;
  EXPECT_EQ(thread_count(), 1);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(1000, 1, [&](std::int64_t first, std::int64_t last) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(last - first, 1000);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelFor, MayBeCalledByItsWorkAndByManyThreadsAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum = 0;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&sum] {
      for (int i = 0; i < 100; ++i) {
        parallel_for(20, 1, [&sum](std::int64_t first, std::int64_t last) {
          parallel_for(last - first, 1,
                       [&sum](std::int64_t one, std::int64_t other) { sum += other - one; });
        });
      }
    });
  }
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(sum, 4 * 100 * 20);
}

TEST(ParallelFor, ThrowsWhatItsWorkThrowsOnceAllThreadsHaveEnded) {
  for (int times = 0; times < 200; ++times) {
    std::atomic<int> at_work = 0;
    const auto fail = [&](std::int64_t first, std::int64_t) {
      ++at_work;
      std::this_thread::yield();
      --at_work;
      if (first % 3 == times % 3) throw std::bad_alloc();
    };
    EXPECT_THROW(parallel_for(64, 1, fail), std::bad_alloc);
    EXPECT_EQ(at_work, 0);
  }
  for (const auto& each : visits(1000, 7)) EXPECT_EQ(each, 1);
}

TEST(ParallelFor, MakesATeamAnewForAnotherNumberOfThreads) {
  const std::int64_t threads_before = thread_count();
  for (const std::int64_t threads : {2, 3, 2, 1, 3}) {
    use_threads(threads);
    for (const auto& each : visits(1000, 7)) EXPECT_EQ(each, 1);
  }
  use_threads(threads_before);
}

TEST(ParallelFor, HasTheThreadsOfAnotherTeamDoTheWork) {
  static std::int64_t calls;
  calls = 0;
  use_team([](std::int64_t threads, const std::function<void(std::size_t number)>& task) {
    EXPECT_EQ(threads, 3);
    ++calls;
    for (std::size_t number = 3; number-- > 0;) task(number);
  });
  const std::int64_t threads_before = thread_count();
  use_threads(3);
  for (const auto& each : visits(1000, 7)) EXPECT_EQ(each, 1);
  EXPECT_EQ(calls, 1);
  use_team(nullptr);
  for (const auto& each : visits(1000, 7)) EXPECT_EQ(each, 1);
  EXPECT_EQ(calls, 1);
  use_threads(threads_before);
}

}  // namespace
}  // namespace polystate
