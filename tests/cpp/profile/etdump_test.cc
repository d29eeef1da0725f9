#include "profile/etdump.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/engine_factory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "profile/call_times.h"
#include "program/program.h"
#include "support/test_files.h"

namespace polystate::profile {
namespace {

// What the engine recorded of two calls of a method, with the program that it ran.
class Etdump : public ::testing::Test {
 protected:
  Etdump() {
    const std::unique_ptr<Engine> engine = make_engine(artifact_, {}).value();
    const std::unique_ptr<EngineSession> session = engine->new_session({.profile = true}).value();
    const std::vector<std::byte> zeros(16 * sizeof(float));
    const Tensor x = Tensor::copy_of(DType::kFloat32, {1, 16}, zeros).value();
    const std::size_t step = artifact_.manifest().method_index("step").value();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(session->run(step, std::vector{x}));
    bytes_ = session->take_profile().value();
    program_ = program::read_program(artifact_.program()->bytes()).value();
  }

  [[nodiscard]] Result<std::vector<CallTimes>> read(std::span<const std::byte> bytes) const {
    return read_etdump(bytes, program_, {"step", "step"});
  }

  Artifact artifact_ = Artifact::open(fixture("layered")).value();
  std::vector<std::byte> bytes_;
  program::Program program_;
};

TEST_F(Etdump, NamesTheOperatorsOfEachCall) {
  const std::vector<CallTimes> calls = read(bytes_).value();
  ASSERT_EQ(calls.size(), 2);
  const program::Method& step = program_.methods[program::find_method(program_, "step").value()];
  for (const CallTimes& call : calls) {
    EXPECT_EQ(call.method, "step");
    EXPECT_GT(call.nanoseconds, 0);
    EXPECT_EQ(call.operators.size(), step.instructions.size());
    for (const OperatorTime& time : call.operators) EXPECT_FALSE(time.name.empty());
  }
}

TEST_F(Etdump, OfOtherCallsIsRefused) {
  EXPECT_EQ(read_etdump(bytes_, program_, {"step"}).error().code, ErrorCode::kArtifact);
  EXPECT_EQ(read_etdump(bytes_, program_, {"step", "nothing"}).error().code, ErrorCode::kArtifact);
  for (program::Method& method : program_.methods) method.instructions.clear();
  EXPECT_EQ(read(bytes_).error().code, ErrorCode::kArtifact);
}

TEST_F(Etdump, AnotherFileIsNone) {
  const std::string text = "This is no ETDump.";
  EXPECT_EQ(read(std::as_bytes(std::span(text))).error().code, ErrorCode::kArtifact);
  EXPECT_EQ(read({}).error().code, ErrorCode::kArtifact);
}

TEST_F(Etdump, DamagedBytesEndInATypedErrorOrCalls) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same in every run
  for (int round = 0; round < 500; ++round) {
    // A copy without room behind it, so that reading past the end is seen.
    std::vector<std::byte> damaged(bytes_.begin(), bytes_.end());
    if (round % 5 == 0) damaged.resize(random() % damaged.size());
    for (int i = 0; i < 4 && !damaged.empty(); ++i)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const std::vector<std::byte> exact(damaged.begin(), damaged.end());
    const Result<std::vector<CallTimes>> calls = read(exact);
    if (calls) {
      EXPECT_EQ(calls->size(), 2);
    } else {
      EXPECT_EQ(calls.error().code, ErrorCode::kArtifact) << calls.error().message;
    }
  }
}

}  // namespace
}  // namespace polystate::profile
