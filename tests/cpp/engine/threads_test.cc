#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "engine/engine_factory.h"
#include "engine/opened.h"
#include "kernels/parallel.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "support/floats.h"
#include "support/test_files.h"

namespace polystate {
namespace {

// What `step` returns in the last of `calls` calls of a session of its own.
std::vector<float> last_step(const Opened& opened, EngineSession& session, int calls) {
  std::vector<float> last;
  for (int i = 0; i < calls; ++i) {
    const Tensor x = floats({1, 16}, std::vector<float>(16, static_cast<float>(i % 7)));
    last = elements<float>(opened.run(session, "step", {x}).value()[0]);
  }
  return last;
}

TEST(Threads, EachWithASessionComputeWhatOneComputes) {
  const Opened opened("layered");
  const std::vector<float> expected =
      last_step(opened, *opened.engine().new_session({}).value(), 200);
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (auto& result : found) {
    threads.emplace_back([&opened, &result] {
      result = last_step(opened, *opened.engine().new_session({}).value(), 200);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& result : found) {
    EXPECT_EQ(result, expected);
  }
}

TEST(Threads, OfThePoolDoACallersTasksEachOnce) {
  const Opened opened("layered");
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> calls(count);
    opened.engine().parallel_for(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& each : calls) EXPECT_EQ(each, 1);
  }
}

TEST(Threads, OfThePoolHandAnExceptionOfATaskToTheCaller) {
  const Opened opened("layered");
  const auto fail = [](std::size_t i) {
    if (i == 7) throw std::bad_alloc();
  };
  EXPECT_THROW(opened.engine().parallel_for(20, fail), std::bad_alloc);
  EXPECT_NO_THROW(opened.engine().parallel_for(5, fail));
}

TEST(Threads, RunSessionsSideBySideWhereNoDelegateComputes) {
  const auto threads = static_cast<std::size_t>(thread_count());
  EXPECT_EQ(Opened("counter").engine().sessions_side_by_side(), threads);
  EXPECT_EQ(Opened("layered").engine().sessions_side_by_side(), 1U);
}

TEST(Threads, AreNotNeededForWhatASessionComputes) {
  const Opened opened("layered");
  auto single = opened.engine().new_session({.single_threaded = true}).value();
  EXPECT_EQ(last_step(opened, *single, 50),
            last_step(opened, *opened.engine().new_session({}).value(), 50));
}

TEST(Threads, OpenAndCloseSessionsAtTheSameTime) {
  const Opened opened("layered");
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const auto session = opened.engine().new_session({});
        if (!session || last_step(opened, **session, 1).size() != 16) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
}

TEST(Threads, AreAsManyAsAskedUntilASessionUsesThem) {
  const Artifact artifact = Artifact::open(fixture("layered")).value();
  for (std::int64_t threads = 1; threads <= 3; ++threads) {
    ASSERT_TRUE(make_engine(artifact, {.threads = threads}));
  }
  const auto engine = make_engine(artifact, {}).value();
  auto session = engine->new_session({}).value();
  EXPECT_TRUE(make_engine(artifact, {.threads = 3})) << "as many as there are";
  const auto refused = make_engine(artifact, {.threads = 2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEngine);
  EXPECT_EQ(refused.error().message,
            "the engine's pool, which the whole process shares, has 3 threads and is in use "
            "(sessions: 1): close them before it gets 2");
  session.reset();
  EXPECT_TRUE(make_engine(artifact, {.threads = 2}));
}

}  // namespace
}  // namespace polystate
