#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/altered_artifact.h"
#include "engine/engine_factory.h"
#include "engine/opened.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "support/floats.h"

namespace polystate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Counter : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(InputsPlannedOrNot, Counter,
                         ::testing::Values("counter", "counter_planned_inputs"));

TEST_P(Counter, ReturnsOutputsThatNoLaterCallOverwrites) {
  Opened opened(GetParam());
  const Tensor first = opened.run("add", {floats({4}, {1, 2, 3, 4})}).value()[0];
  const Tensor second = opened.run("add", {floats({4}, {1, 1, 1, 1})}).value()[0];
  const Tensor other = opened.run("plus_one", {floats({4}, {9, 9, 9, 9})}).value()[0];
  EXPECT_THAT(elements<float>(first), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(elements<float>(second), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(elements<float>(other), ElementsAre(10, 10, 10, 10));
}

TEST_P(Counter, ReturnsACopyOfAStateThatIsReturnedAsItIs) {
  Opened opened(GetParam());
  ASSERT_TRUE(opened.run("add", {floats({4}, {1, 2, 3, 4})}));
  const Tensor raw = opened.run("raw").value()[0];
  ASSERT_TRUE(opened.run("add", {floats({4}, {1, 1, 1, 1})}));
  EXPECT_THAT(elements<float>(raw), ElementsAre(1, 2, 3, 4));
}

TEST_P(Counter, ReturnsCopiesOfAnInputThatIsPassedThrough) {
  Opened opened(GetParam());
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const std::vector<Tensor> outputs = opened.run("same", {x}).value();
  ASSERT_EQ(outputs.size(), 2U);
  x.mutable_bytes()[3] = std::byte{0};
  outputs[0].mutable_bytes()[7] = std::byte{0};
  EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(1, 2, 3, 4));
}

TEST_P(Counter, ReadsAnInputWhereItsCallerHasIt) {
  Opened opened(GetParam());
  const std::vector<float> values = {1, 2, 3, 4};
  const Tensor x = Tensor::borrow_read_only(DType::kFloat32, {4}, values.data()).value();
  EXPECT_THAT(elements<float>(opened.run("plus_one", {x}).value()[0]), ElementsAre(2, 3, 4, 5));
}

TEST_P(Counter, LendsOutputsWhoseOverwritingChangesNothingElse) {
  Opened opened(GetParam());
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const auto borrowed = [&](const std::string& method, const std::vector<Tensor>& inputs) {
    return opened.session()
        .run_borrowing(opened.manifest().method_index(method).value(), inputs)
        .value();
  };
  const auto overwrite = [](const std::vector<Tensor>& outputs) {
    for (const Tensor& output : outputs) {
      std::ranges::fill(output.mutable_bytes(), std::byte{0xFF});
    }
  };
  EXPECT_THAT(elements<float>(borrowed("add", {x})[0]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(elements<float>(borrowed("plus_one", {x})[0]), ElementsAre(2, 3, 4, 5));
  for (const char* const method : {"raw", "viewed", "get"}) overwrite(borrowed(method, {}));
  for (const char* const method : {"same", "plus_one"}) overwrite(borrowed(method, {x}));
  EXPECT_THAT(elements<float>(x), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements<float>(opened.run("raw").value()[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements<std::int64_t>(opened.run("get").value()[0]), ElementsAre(4));
}

TEST(Run, TakesEveryTypeWithoutDimensionsAndEmptyTensors) {
  Opened opened("types");
  std::vector<Tensor> inputs = {floats({0, 3}, {})};
  for (const InputSpec& input : opened.manifest().methods[0].inputs) {
    if (inputs.size() <= 10 && input.shape.empty()) {
      const std::vector<std::byte> zeros(size_of(input.dtype));
      inputs.push_back(Tensor::copy_of(input.dtype, {}, zeros).value());
    }
  }
  const std::vector<Tensor> ones = opened.run("flip", inputs).value();
  ASSERT_EQ(ones.size(), 11U);
  EXPECT_EQ(ones[0].shape(), Shape({0, 3}));
  EXPECT_EQ(ones[1].values<bool>()[0], true);
  EXPECT_EQ(ones[2].values<std::uint8_t>()[0], 1);
  EXPECT_EQ(ones[6].values<std::int64_t>()[0], 1);
  EXPECT_EQ(ones[7].bytes()[1], std::byte{0x3c}) << "1 as float16 is 3c00";
  EXPECT_EQ(ones[8].bytes()[1], std::byte{0x3f}) << "1 as bfloat16 is 3f80";
  EXPECT_EQ(ones[10].values<double>()[0], 1);
  const std::vector<Tensor> zeros = opened.run("flip", inputs).value();
  for (std::size_t i = 1; i < zeros.size(); ++i) {
    EXPECT_EQ(zeros[i].dtype(), ones[i].dtype());
    for (const std::byte byte : zeros[i].bytes()) {
      EXPECT_EQ(byte, std::byte{0}) << "output " << i;
    }
  }
}

TEST(Run, TakesEverySizeOfADynamicDimension) {
  Opened opened("cache");
  for (const std::int64_t rows : {1, 2, 3}) {
    for (const std::int64_t columns : {1, 4, 5}) {
      opened.session().reset();
      const std::vector<float> ones(static_cast<std::size_t>(rows * columns), 1);
      const Tensor sum = opened.run("fill", {floats({rows, columns}, ones)}).value()[0];
      EXPECT_EQ(sum.values<float>()[0], static_cast<float>(rows * columns));
    }
  }
}

TEST(Run, WritesIntoStateInPlace) {
  Opened opened("cache");
  const Tensor position = Tensor::of<std::int64_t>({1}, {4}).value();
  const Tensor cache = opened.run("column", {floats({4, 1}, {1, 2, 3, 4}), position}).value()[0];
  EXPECT_EQ(cache.values<float>()[4], 1);
  EXPECT_EQ(cache.values<float>()[22], 4);
  const auto none = opened.run("last_row", {floats({6}, {9, 9, 9, 9, 9, 9})});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty()) << "a method that returns nothing";
  EXPECT_EQ(reinterpret_cast<const float*>(opened.state("cache").data())[22], 9);
}

TEST(Run, NamesTheOperatorAndTheLimitWhenAnOperatorFails) {
  Opened opened("cache");
  const Tensor position = Tensor::of<std::int64_t>({1}, {6}).value();
  const auto failed = opened.run("column", {floats({4, 1}, {1, 2, 3, 4}), position});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  EXPECT_THAT(failed.error().message,
              HasSubstr("method 'column' failed: polystate::index_put_: index 6 of a dimension of "
                        "6 elements"));
  EXPECT_TRUE(opened.session().state_intact()) << "the manifest calls the method atomic";
}

TEST(Run, MakesAFailedCheckAContractErrorWithItsTextAndSource) {
  Opened opened("checked");
  const auto step = [&](const Tensor& x, std::int64_t k) {
    return opened.run("step", {x, Tensor::of<std::int64_t>({}, {k}).value()});
  };
  ASSERT_TRUE(step(floats({2}, {1, 1}), 3));

  const auto outside = step(floats({2}, {1, 1}), 4);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kContract);
  EXPECT_EQ(outside.error().message,
            "method 'step': '0 <= k < 4' does not hold (step.py:3): found 4");
  const auto large = step(floats({2}, {99, 1}), 0);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "method 'step': 'x.sum() < 100' does not hold: found false");
  const auto long_input = step(floats({6}, {1, 1, 1, 1, 1, 1}), 0);
  ASSERT_FALSE(long_input);
  EXPECT_EQ(long_input.error().message, "method 'step': 'x.shape[0] <= 5' does not hold: found 6");

  EXPECT_TRUE(opened.session().state_intact());
  EXPECT_EQ(reinterpret_cast<const float*>(opened.state("count").data())[0], 2);
  EXPECT_THAT(elements<float>(step(floats({1}, {1}), 0).value()[0]), ElementsAre(3));
}

TEST(Run, SaysThatTheStateMayBeBrokenWhenAMethodThatIsNotAtomicFails) {
  Opened opened("cache");
  const auto run = [&](std::int64_t position) {
    return opened.run("fail_after_write", {floats({6}, {1, 2, 3, 4, 5, 6}),
                                           Tensor::of<std::int64_t>({}, {position}).value()});
  };
  EXPECT_TRUE(run(5));
  EXPECT_TRUE(opened.session().state_intact());
  const auto failed = run(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kContract);
  EXPECT_FALSE(opened.session().state_intact());
  opened.session().reset();
  EXPECT_TRUE(opened.session().state_intact());
}

TEST(Run, LeavesTheStateAsItWasWhenACheckBeforeEveryWriteFails) {
  AlteredArtifact altered("checked");
  altered.replace(R"("atomic": true)", R"("atomic": false)");
  const Artifact artifact = altered.open().value();
  const auto engine = make_engine(artifact, {}).value();
  const auto session = engine->new_session({}).value();
  const Tensor outside = Tensor::of<std::int64_t>({}, {4}).value();
  const auto failed = session->run(0, std::vector<Tensor>{floats({2}, {1, 1}), outside});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kContract);
  EXPECT_TRUE(session->state_intact());
}

class Writing : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(InputsPlannedOrNot, Writing,
                         ::testing::Values("writing", "writing_planned_inputs"));

TEST_P(Writing, WritesAMutatedInputAndReturnsTheOutputsOnly) {
  Opened opened(GetParam());
  const Tensor x = floats({3}, {1, 2, 3});
  const std::vector<Tensor> outputs = opened.run("double", {x}).value();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_THAT(elements<float>(x), ElementsAre(2, 4, 6));
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(3, 5, 7));
}

TEST_P(Writing, SwapsTwoInputs) {
  Opened opened(GetParam());
  const Tensor a = floats({3}, {1, 2, 3});
  const Tensor b = floats({3}, {7, 8, 9});
  ASSERT_TRUE(opened.run("swap", {a, b}));
  EXPECT_THAT(elements<float>(a), ElementsAre(7, 8, 9));
  EXPECT_THAT(elements<float>(b), ElementsAre(1, 2, 3));
}

TEST(Run, ReturnsRowMajorTensorsWhateverOrderTheProgramComputesIn) {
  Opened opened("channels_last");
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  const Tensor result = opened.run("convert", {floats({1, 2, 3, 4}, values)}).value()[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(result.values<float>()[i], 2 * values[i]);
  }
}

TEST(Run, RunsDelegatesOverSharedState) {
  Opened opened("layered");
  const Tensor x = floats({1, 16}, std::vector<float>(16, 0.5));
  const Tensor before = opened.run("peek", {x}).value()[0];
  const Tensor hidden = opened.run("step", {x}).value()[0];
  const Tensor after = opened.run("peek", {x}).value()[0];
  for (std::size_t i = 0; i < 16; ++i) {
    const float layers = before.values<float>()[i] - 1;  // hidden starts as ones
    EXPECT_NEAR(hidden.values<float>()[i], layers + 0.5, 1e-5);
    EXPECT_NEAR(after.values<float>()[i], layers + hidden.values<float>()[i], 1e-5);
  }
}

TEST(Run, ReadsAnInputAtTheVeryEndOfAccessibleMemory) {
  Opened opened("layered");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const pages =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const end = static_cast<std::byte*>(pages) + page;
  ASSERT_EQ(::mprotect(end, page, PROT_NONE), 0);
  const std::vector<float> ones(16, 1);
  std::memcpy(end - 64, ones.data(), 64);
  const Tensor last = Tensor::borrow_read_only(DType::kFloat32, {1, 16}, end - 64).value();
  const std::vector<float> expected =
      elements<float>(opened.run("peek", {floats({1, 16}, ones)}).value()[0]);
  EXPECT_EQ(elements<float>(opened.run("peek", {last}).value()[0]), expected);
  ::munmap(pages, 2 * page);
}

TEST(Profile, HoldsTheCallsSinceItWasLastTaken) {
  Opened opened("layered", {.profile = true});
  const Tensor x = floats({1, 16}, std::vector<float>(16, 1));
  ASSERT_TRUE(opened.run("step", {x}));
  const std::vector<std::byte> one_call = opened.session().take_profile().value();
  ASSERT_GT(one_call.size(), 8U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(one_call.data()) + 8, 4), "ED00");
  EXPECT_TRUE(opened.session().take_profile().value().empty());
  ASSERT_TRUE(opened.run("step", {x}));
  ASSERT_TRUE(opened.run("peek", {x}));
  EXPECT_GT(opened.session().take_profile().value().size(), one_call.size());
}

TEST(Profile, IsEmptyWhereNothingIsRecorded) {
  Opened opened("counter");
  ASSERT_TRUE(opened.run("get"));
  EXPECT_TRUE(opened.session().take_profile().value().empty());
}

}  // namespace
}  // namespace polystate
