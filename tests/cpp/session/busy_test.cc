#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "session/fake_engine.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using States = std::vector<std::vector<std::byte>>;

TEST(Busy, IsToldToASecondThreadAndLeavesTheFirstAlone) {
  const auto script = std::make_shared<FakeScript>();
  std::latch inside(1);
  std::latch leave(1);
  script->run = [&](std::size_t, std::span<const Tensor>, States&) {
    inside.count_down();
    leave.wait();
    return Result<std::vector<Tensor>>(std::vector<Tensor>());
  };
  const Model model = fake_model(script);
  Session session = model.new_session().value();
  const Snapshot snapshot = session.snapshot().value();
  auto first = std::async(std::launch::async, [&] { return session.run("get").has_value(); });
  inside.wait();

  const TemporaryFolder folder;
  const Tensor cache = Tensor::of<float>({3}, {1, 2, 3}).value();
  const std::vector<Error> errors = {
      session.run("get").error(),          session.reset().error(),
      session.snapshot().error(),          session.restore(snapshot).error(),
      session.save(folder / "a").error(),  session.load(folder / "a").error(),
      session.read_state("cache").error(), session.write_state("cache", cache).error(),
      session.take_profile().error(),
  };
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::kBusy) << error.message;
  }
  EXPECT_EQ(script->runs, 1);

  leave.count_down();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(session.reset());
}

TEST(Busy, IsAllThatManyThreadsOnOneSessionSee) {
  const auto script = std::make_shared<FakeScript>();
  std::atomic<int> inside = 0;
  script->run = [&](std::size_t, std::span<const Tensor>, States&) {
    EXPECT_EQ(++inside, 1) << "two threads in one session";
    --inside;
    return Result<std::vector<Tensor>>(std::vector<Tensor>());
  };
  const Model model = fake_model(script);
  Session session = model.new_session().value();
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto result = session.run("get");
        EXPECT_TRUE(result || result.error().code == ErrorCode::kBusy);
        done += result ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(script->runs, done);
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace polystate
