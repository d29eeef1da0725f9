#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "engine/opened.h"
#include "polystate/core/tensor.h"
#include "support/floats.h"

namespace polystate {
namespace {

using ::testing::ElementsAre;

TEST(State, StartsWithStoredValuesWhateverMethodIsCalledFirst) {
  for (const bool add_first : {false, true}) {
    Opened opened("counter");
    if (add_first) {
      ASSERT_TRUE(opened.run("add", {floats({4}, {1, 2, 3, 4})}));
    }
    const std::vector<Tensor> state = opened.run("get").value();
    EXPECT_EQ(state[0].values<std::int64_t>()[0], add_first ? 4 : 3);
    EXPECT_EQ(state[1].values<float>()[1], add_first ? 2 : 0);
  }
}

TEST(State, IsSeenByEveryMethodAndByItsName) {
  Opened opened("counter");
  std::int64_t count = 40;
  std::memcpy(opened.state("count").data(), &count, sizeof(count));
  ASSERT_TRUE(opened.run("add", {floats({4}, {0, 0, 0, 0})}));
  EXPECT_EQ(opened.run("get").value()[0].values<std::int64_t>()[0], 41);
  std::memcpy(&count, opened.state("count").data(), sizeof(count));
  EXPECT_EQ(count, 41);
}

TEST(State, ReturnsToItsInitialValues) {
  Opened opened("counter");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(opened.run("add", {floats({4}, {1, 2, 3, 4})}));
    opened.session().reset();
    const std::vector<Tensor> state = opened.run("get").value();
    EXPECT_EQ(state[0].values<std::int64_t>()[0], 3);
    EXPECT_THAT(elements<float>(state[1]), ElementsAre(0, 0, 0, 0));
  }
}

TEST(State, IsEachSessionsOwn) {
  Opened opened("counter");
  ASSERT_TRUE(opened.run("add", {floats({4}, {1, 2, 3, 4})}));
  const auto second = opened.engine().new_session({}).value();
  EXPECT_EQ(opened.run(*second, "get").value()[0].values<std::int64_t>()[0], 3);
  ASSERT_TRUE(opened.run(*second, "add", {floats({4}, {5, 5, 5, 5})}));
  EXPECT_THAT(elements<float>(opened.run("get").value()[1]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements<float>(opened.run(*second, "get").value()[1]), ElementsAre(5, 5, 5, 5));
}

TEST(State, MayBeReadAsAView) {
  Opened opened("counter");
  ASSERT_TRUE(opened.run("add", {floats({4}, {1, 2, 3, 4})}));
  const Tensor view = opened.run("viewed").value()[0];
  EXPECT_EQ(view.shape(), Shape({2, 2}));
  EXPECT_THAT(elements<float>(view), ElementsAre(1, 2, 3, 4));
}

TEST(State, OfNoElementsIsThere) {
  Opened opened("types");
  EXPECT_TRUE(opened.state("empty").empty());
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Session, OfAHundredLayersCostsItsStateAndAMegabyte) {
  Opened opened("hundred_layers");
  const Tensor x = floats({1, 16}, std::vector<float>(16, 1));
  ASSERT_TRUE(opened.run("step", {x}));
  std::vector<std::unique_ptr<EngineSession>> sessions;
  sessions.reserve(20);
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(opened.engine().new_session({}).value());
  }
  [[maybe_unused]] const std::size_t cost = (resident_bytes() - before) / sessions.size();
#ifndef __SANITIZE_ADDRESS__  // which has memory of its own for every allocation
  EXPECT_LT(cost, opened.engine().state_bytes() + std::size_t{1024} * 1024);
#endif
  EXPECT_TRUE(opened.run(*sessions.back(), "step", {x}));
}

}  // namespace
}  // namespace polystate
