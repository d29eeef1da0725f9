#include "polystate/session/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/session/session.h"
#include "support/floats.h"
#include "support/test_files.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using ::testing::ElementsAre;

TEST(Model, OpensAnArtifactAndRunsItsMethodsOverOneState) {
  const Model model = Model::open(fixture("counter")).value();
  EXPECT_EQ(model.manifest().methods.size(), 6U);
  EXPECT_EQ(std::get<std::int64_t>(model.manifest().constants.at("max_length")), 64);
  EXPECT_GE(model.state_bytes(), 24U);
  EXPECT_GT(model.activation_bytes(), 0U);
  Session session = model.new_session().value();
  const Tensor doubled = session.run("add", {floats({4}, {1, 2, 3, 4})}).value()[0];
  EXPECT_THAT(doubled.values<float>(), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(session.read_state("count").value().values<std::int64_t>()[0], 4);
}

TEST(Model, IsSharedByItsCopiesAndSessions) {
  Model model = Model::open(fixture("counter")).value();
  const Model copy = model;
  Session first = model.new_session().value();
  Session second = copy.new_session().value();
  model = Model::open(fixture("writing")).value();
  ASSERT_TRUE(first.run("add", {floats({4}, {1, 1, 1, 1})}));
  EXPECT_EQ(second.read_state("count").value().values<std::int64_t>()[0], 3);
}

TEST(Model, CarriesStateFromOneProcessToAnotherThroughAFile) {
  const TemporaryFolder folder;
  {
    Session session = Model::open(fixture("cache")).value().new_session().value();
    ASSERT_TRUE(session.run("last_row", {floats({6}, {1, 2, 3, 4, 5, 6})}));
    ASSERT_TRUE(session.save(folder / "session"));
  }
  Session session = Model::open(fixture("cache")).value().new_session().value();
  ASSERT_TRUE(session.load(folder / "session"));
  const Tensor sum = session.run("fill", {floats({1, 1}, {10})}).value()[0];
  EXPECT_EQ(sum.values<float>()[0], 31);
}

TEST(Model, RunsSessionAfterSessionFromAMappedFileWhosePagesItGivesBack) {
  const Tensor x = floats({1, 16}, std::vector<float>(16, 1));
  const Model copied = Model::open(fixture("layered")).value();
  const Tensor expected = copied.new_session().value().run("peek", {x}).value()[0];
  const Model mapped =
      Model::open(fixture("layered"), {.artifact = {.verification = Verification::kTrusted}})
          .value();
  for (int i = 0; i < 3; ++i) {
    const Tensor found = mapped.new_session().value().run("peek", {x}).value()[0];
    EXPECT_THAT(found.values<float>(), ::testing::ElementsAreArray(expected.values<float>()));
  }
}

TEST(Model, RefusesANumberOfThreadsOutOfRangeWithItsLimits) {
  for (const std::int64_t threads : {INT64_MIN, std::int64_t{0}, kMaxThreads + 1}) {
    const auto refused = Model::open(fixture("counter"), {.threads = threads});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kContract);
    EXPECT_EQ(refused.error().message,
              "threads is " + std::to_string(threads) + ": 1 to 1024 is needed");
  }
}

TEST(Model, RefusesAFolderThatIsNoArtifact) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Model::open(folder.path()));
  EXPECT_FALSE(Model::open(folder / "nothing"));
}

TEST(Model, RepairsASessionWhoseStateAFailedMethodBroke) {
  Session session = Model::open(fixture("cache")).value().new_session().value();
  const Tensor x = floats({6}, {1, 2, 3, 4, 5, 6});
  const auto position = [](std::int64_t value) {
    return Tensor::of<std::int64_t>({}, {value}).value();
  };
  ASSERT_TRUE(session.run("fail_after_write", {x, position(5)}));
  const Snapshot snapshot = session.snapshot().value();
  const auto failed = session.run("fail_after_write", {x, position(6)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kContract);
  EXPECT_EQ(session.run("fail_after_write", {x, position(5)}).error().code, ErrorCode::kEngine);
  ASSERT_TRUE(session.restore(snapshot));
  EXPECT_TRUE(session.run("fail_after_write", {x, position(5)}));
}

}  // namespace
}  // namespace polystate
