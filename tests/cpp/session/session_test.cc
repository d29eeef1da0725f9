#include "polystate/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "session/fake_engine.h"
#include "support/floats.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using States = std::vector<std::vector<std::byte>>;

std::vector<float> cache_of(Session& session) {
  const Tensor cache = session.read_state("cache").value();
  return {cache.values<float>().begin(), cache.values<float>().end()};
}

// `add` adds the first element of x to the cache's; the other methods do nothing.
Result<std::vector<Tensor>> add(std::size_t method, std::span<const Tensor> inputs,
                                States& states) {
  if (method == 0) {
    float first = 0;
    std::memcpy(&first, states[0].data(), sizeof(first));
    first += inputs[0].values<float>()[0];
    std::memcpy(states[0].data(), &first, sizeof(first));
  }
  return std::vector<Tensor>();
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() { script->run = &add; }

  // Makes the next call fail after it has written the state.
  void fail_half_way() {
    script->run = [](std::size_t method, std::span<const Tensor> inputs, States& states) {
      EXPECT_TRUE(add(method, inputs, states));
      return Result<std::vector<Tensor>>(Error{ErrorCode::kEngine, "it broke"});
    };
    script->state_intact = false;
  }

  std::shared_ptr<FakeScript> script = std::make_shared<FakeScript>();
  Model model = fake_model(script);
  Session session = model.new_session().value();
};

TEST_F(SessionTest, RunsAMethodByItsName) {
  EXPECT_TRUE(session.run("add", {floats({1}, {2})}));
  EXPECT_TRUE(session.run("add", {floats({2}, {3, 0})}));
  EXPECT_TRUE(session.run("get"));
  EXPECT_EQ(script->runs, 3);
  EXPECT_THAT(cache_of(session), ElementsAre(5, 0, 0));
}

TEST_F(SessionTest, RefusesWhatTheContractRefusesBeforeTheEngineSeesIt) {
  const auto refused = session.run("add", {floats({5}, {1, 2, 3, 4, 5})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_THAT(refused.error().message, HasSubstr("method 'add'"));
  EXPECT_EQ(session.run("add").error().code, ErrorCode::kContract);
  EXPECT_EQ(script->runs, 0);
}

TEST_F(SessionTest, NamesTheMethodsThereAreWhenAskedForAnother) {
  const auto refused = session.run("subtract");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_THAT(refused.error().message, HasSubstr("add"));
  EXPECT_EQ(script->runs, 0);
}

TEST_F(SessionTest, RefusesAReadOnlyInputThatAMethodWrites) {
  const std::vector<float> values = {1, 2};
  const Tensor x = Tensor::borrow_read_only(DType::kFloat32, {2}, values.data()).value();
  EXPECT_EQ(session.run("fill", {x}).error().code, ErrorCode::kContract);
  EXPECT_TRUE(session.run("fill", {floats({2}, {1, 2})}));
}

TEST_F(SessionTest, AnEngineSeesComplexNumbersAsPairs) {
  using Complex = std::complex<float>;
  script->run = [](std::size_t, std::span<const Tensor> inputs, States&) {
    EXPECT_EQ(inputs[0].dtype(), DType::kFloat32);
    EXPECT_EQ(inputs[0].shape(), Shape({2, 2}));
    return Result<std::vector<Tensor>>(std::vector<Tensor>{inputs[0]});
  };
  const Tensor z = Tensor::of<Complex>({2}, {{1, 2}, {3, 4}}).value();
  const std::vector<Tensor> outputs = session.run("turn", {z}).value();
  ASSERT_EQ(outputs[0].shape(), Shape({2}));
  EXPECT_THAT(outputs[0].values<Complex>(), ElementsAre(Complex(1, 2), Complex(3, 4)));
}

TEST_F(SessionTest, RefusesRealNumbersInThePlaceOfComplexOnes) {
  const auto refused = session.run("turn", {floats({2, 2}, {1, 2, 3, 4})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "method 'turn', input 0 'z': the dtype is float32; it must be complex64");
  EXPECT_EQ(script->runs, 0);
}

TEST_F(SessionTest, RefusesAnOutputThatIsNoPairs) {
  script->run = [](std::size_t, std::span<const Tensor>, States&) {
    return Result<std::vector<Tensor>>(std::vector<Tensor>{floats({2, 1}, {1, 2})});
  };
  const Tensor z = Tensor::of<std::complex<float>>({2}, {{1, 2}, {3, 4}}).value();
  const auto refused = session.run("turn", {z});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEngine);
  EXPECT_EQ(refused.error().message,
            "method 'turn', output 0: a float32 tensor of shape [2, 1] has no pairs that are "
            "complex64");
}

TEST_F(SessionTest, UsesNoStateThatACallWroteWhoseOutputIsNoPairs) {
  script->run = [](std::size_t, std::span<const Tensor>, States& states) {
    states[0][0] = std::byte{1};
    return Result<std::vector<Tensor>>(std::vector<Tensor>{floats({2, 1}, {1, 2})});
  };
  const Tensor z = Tensor::of<std::complex<float>>({2}, {{1, 2}, {3, 4}}).value();
  const auto failed = session.run("spin", {z});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  EXPECT_THAT(failed.error().message,
              HasSubstr("has no pairs that are complex64; the state may be half updated"));
  script->run = &add;
  EXPECT_THAT(session.run("get").error().message,
              HasSubstr("the state is half updated since method 'spin' failed"));
  ASSERT_TRUE(session.reset());
  EXPECT_TRUE(session.run("get"));
  EXPECT_THAT(cache_of(session), ElementsAre(0, 0, 0));
}

TEST_F(SessionTest, ReadsAndWritesStateByName) {
  EXPECT_EQ(session.read_state("count").value().values<std::int64_t>()[0], 7);
  ASSERT_TRUE(session.write_state("cache", floats({3}, {1, 2, 3})));
  ASSERT_TRUE(session.run("add", {floats({1}, {10})}));
  EXPECT_THAT(cache_of(session), ElementsAre(11, 2, 3));
}

TEST_F(SessionTest, ReadsACopyOfState) {
  const Tensor cache = session.read_state("cache").value();
  ASSERT_TRUE(session.run("add", {floats({1}, {10})}));
  EXPECT_EQ(cache.values<float>()[0], 0);
}

TEST_F(SessionTest, RefusesStateOfAnotherNameTypeOrShape) {
  EXPECT_EQ(session.read_state("cash").error().code, ErrorCode::kContract);
  EXPECT_EQ(session.write_state("cash", floats({3}, {1, 2, 3})).error().code, ErrorCode::kContract);
  EXPECT_EQ(session.write_state("cache", floats({1, 3}, {1, 2, 3})).error().message,
            "state 'cache' is float32 [3], not float32 [1, 3]");
  EXPECT_EQ(session.write_state("count", floats({}, {1})).error().message,
            "state 'count' is int64 [], not float32 []");
  EXPECT_THAT(cache_of(session), ElementsAre(0, 0, 0));
}

TEST_F(SessionTest, ReadsAndWritesRowsOfAState) {
  ASSERT_TRUE(session.write_state("cache", floats({3}, {1, 2, 3})));
  const std::vector<std::int64_t> rows = {2, 0};
  EXPECT_THAT(session.read_state_rows("cache", rows).value().values<float>(), ElementsAre(3, 1));
  ASSERT_TRUE(session.write_state_rows("cache", rows, floats({2}, {8, 9})));
  EXPECT_THAT(cache_of(session), ElementsAre(9, 2, 8));
  EXPECT_EQ(session.read_state_rows("cache", {}).value().shape(), Shape({0}));
}

TEST_F(SessionTest, RefusesRowsThatAStateDoesNotHave) {
  const auto message = [&](const char* state, std::int64_t row) {
    const std::vector<std::int64_t> rows = {row};
    const Status written = session.write_state_rows(state, rows, floats({1}, {5}));
    EXPECT_EQ(session.read_state_rows(state, rows).error().message, written.error().message);
    EXPECT_EQ(written.error().code, ErrorCode::kContract);
    return written.error().message;
  };
  EXPECT_EQ(message("cache", 3), "state 'cache' has 3 rows; there is no row 3");
  EXPECT_EQ(message("cache", -1), "state 'cache' has 3 rows; there is no row -1");
  EXPECT_EQ(message("count", 0), "state 'count' has no dimensions");
  EXPECT_THAT(message("cash", 0), HasSubstr("cash"));
  const std::vector<std::int64_t> rows = {0};
  EXPECT_EQ(session.write_state_rows("cache", rows, floats({2}, {1, 2})).error().message,
            "these rows of state 'cache' are float32 [1], not float32 [2]");
  EXPECT_THAT(cache_of(session), ElementsAre(0, 0, 0));
}

TEST_F(SessionTest, ReturnsToTheInitialState) {
  ASSERT_TRUE(session.write_state("cache", floats({3}, {1, 2, 3})));
  ASSERT_TRUE(session.reset());
  EXPECT_EQ(script->resets, 1);
  EXPECT_THAT(cache_of(session), ElementsAre(0, 0, 0));
}

TEST_F(SessionTest, RestoresASnapshotAsOftenAsAsked) {
  ASSERT_TRUE(session.write_state("cache", floats({3}, {1, 2, 3})));
  const Snapshot snapshot = session.snapshot().value();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.write_state("cache", floats({3}, {9, 9, 9})));
    ASSERT_TRUE(session.write_state("count", Tensor::of<std::int64_t>({}, {8}).value()));
    ASSERT_TRUE(session.restore(snapshot));
    EXPECT_THAT(cache_of(session), ElementsAre(1, 2, 3));
    EXPECT_EQ(session.read_state("count").value().values<std::int64_t>()[0], 7);
  }
}

TEST_F(SessionTest, TakesASnapshotOfAnotherSessionOfItsModelOnly) {
  Session second = model.new_session().value();
  ASSERT_TRUE(second.write_state("cache", floats({3}, {4, 5, 6})));
  ASSERT_TRUE(session.restore(second.snapshot().value()));
  EXPECT_THAT(cache_of(session), ElementsAre(4, 5, 6));

  const Model other = fake_model(std::make_shared<FakeScript>(), 'v');
  Session stranger = other.new_session().value();
  const Status refused = session.restore(stranger.snapshot().value());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_THAT(cache_of(session), ElementsAre(4, 5, 6));
}

TEST_F(SessionTest, RefusesASnapshotThatWasMovedFrom) {
  Snapshot snapshot = session.snapshot().value();
  const Snapshot taken = std::move(snapshot);
  EXPECT_FALSE(session.restore(snapshot));  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(session.restore(taken));
}

TEST_F(SessionTest, GoesOnAfterAFailureThatLeftTheStateAsItWas) {
  script->run = [](std::size_t, std::span<const Tensor>, States&) {
    return Result<std::vector<Tensor>>(Error{ErrorCode::kEngine, "it broke"});
  };
  EXPECT_EQ(session.run("get").error().message, "it broke");
  script->run = &add;
  EXPECT_TRUE(session.run("add", {floats({1}, {1})}));
}

TEST_F(SessionTest, SaysThatTheStateIsHalfUpdatedAndRefusesToUseIt) {
  fail_half_way();
  const auto failed = session.run("add", {floats({1}, {1})});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  EXPECT_THAT(failed.error().message, HasSubstr("it broke; the state may be half updated"));

  const TemporaryFolder folder;
  const std::string reason = "the state is half updated since method 'add' failed";
  for (const Status& refused :
       {Status(session.run("get").error()), Status(session.snapshot().error()),
        Status(session.read_state("cache").error()), session.save(folder / "session"),
        session.write_state("cache", floats({3}, {1, 2, 3}))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kEngine);
    EXPECT_THAT(refused.error().message, HasSubstr(reason));
  }
  EXPECT_EQ(script->runs, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "session"));
}

TEST_F(SessionTest, MakesAnErrorOfMemoryThatRunsOut) {
  script->run = [](std::size_t, std::span<const Tensor>, States&) -> Result<std::vector<Tensor>> {
    throw std::bad_alloc();
  };
  const auto failed = session.run("add", {floats({1}, {1})});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  EXPECT_EQ(failed.error().message, "there is not enough memory to run method 'add'");
  script->run = &add;
  EXPECT_TRUE(session.run("add", {floats({1}, {1})})) << "the engine calls its state intact";
}

TEST_F(SessionTest, IsOfUseAgainAfterResetRestoreOrLoad) {
  const TemporaryFolder folder;
  const Snapshot snapshot = session.snapshot().value();
  ASSERT_TRUE(session.save(folder / "session"));
  const std::vector<std::function<Status()>> repairs = {
      [&] { return session.reset(); },
      [&] { return session.restore(snapshot); },
      [&] { return session.load(folder / "session"); },
  };
  for (const auto& repair : repairs) {
    fail_half_way();
    ASSERT_FALSE(session.run("add", {floats({1}, {1})}));
    ASSERT_FALSE(session.run("get"));
    ASSERT_TRUE(repair());
    script->run = &add;
    EXPECT_THAT(cache_of(session), ElementsAre(0, 0, 0));
    EXPECT_TRUE(session.run("get"));
  }
}

TEST_F(SessionTest, StaysBrokenWhenARestoreIsRefused) {
  const Model other = fake_model(std::make_shared<FakeScript>(), 'v');
  const Snapshot strange = other.new_session().value().snapshot().value();
  fail_half_way();
  ASSERT_FALSE(session.run("add", {floats({1}, {1})}));
  EXPECT_FALSE(session.restore(strange));
  EXPECT_EQ(session.run("get").error().code, ErrorCode::kEngine);
}

TEST_F(SessionTest, SaysThatASnapshotWasMovedFrom) {
  Snapshot snapshot = session.snapshot().value();
  const Snapshot moved = std::move(snapshot);
  const Status refused = session.restore(snapshot);  // NOLINT(bugprone-use-after-move)
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_EQ(refused.error().message, "the snapshot is empty: it was moved from");
  EXPECT_TRUE(session.restore(moved));
}

TEST_F(SessionTest, GivesItsProfileWhenItWasOpenedWithOne) {
  EXPECT_EQ(session.take_profile().error().code, ErrorCode::kContract);
  Session profiling = model.new_session({.profile = true}).value();
  EXPECT_EQ(profiling.take_profile().value().size(), 5U);
}

TEST_F(SessionTest, RefusesEverythingAfterItWasMovedFrom) {
  Session moved = std::move(session);
  EXPECT_TRUE(moved.run("get"));
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_EQ(session.run("get").error().code, ErrorCode::kContract);
  EXPECT_EQ(session.reset().error().code, ErrorCode::kContract);
  EXPECT_EQ(session.snapshot().error().code, ErrorCode::kContract);
  EXPECT_EQ(session.read_state("cache").error().code, ErrorCode::kContract);
  session = std::move(moved);
  EXPECT_TRUE(session.run("get"));
  // NOLINTEND(bugprone-use-after-move)
}

TEST(Sessions, KeepTheirModelAlive) {
  const auto script = std::make_shared<FakeScript>();
  script->run = &add;
  std::optional<Session> session;
  {
    const Model model = fake_model(script);
    session.emplace(model.new_session().value());
  }
  EXPECT_FALSE(script->engine_is_gone);
  EXPECT_TRUE(session->run("add", {floats({1}, {1})}));
  session.reset();
  EXPECT_TRUE(script->engine_is_gone);
  EXPECT_EQ(script->live_sessions, 0);
}

}  // namespace
}  // namespace polystate
