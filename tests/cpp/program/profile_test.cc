#include "program/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using ::testing::ElementsAre;

Method two_operators() {
  Method method{.name = "step", .operators = {"aten::add.out", "aten::clone.out"}};
  const Instruction::Kind kernel = Instruction::Kind::kKernel;
  method.instructions = {{kernel, 0, {}}, {kernel, 1, {}}, {kernel, 0, {}}};
  return method;
}

TEST(Profile, OperatorsAreSummedUpAndSorted) {
  const Method method = two_operators();
  const CallTimes first = {.method = &method, .call = {100, {{0, 20}, {1, 50}, {2, 10}}}};
  const CallTimes second = {.method = &method, .call = {40, {{1, 30}}}};
  const std::vector<OperatorTime> times = operator_times({first, second});
  ASSERT_EQ(times.size(), 3);
  EXPECT_EQ(times[0].name, "aten::clone.out");
  EXPECT_EQ(times[0].calls, 2);
  EXPECT_EQ(times[0].nanoseconds, 80);
  EXPECT_EQ(times[1].name, "aten::add.out");
  EXPECT_EQ(times[1].nanoseconds, 30);
  EXPECT_EQ(times[2].name, "outside of operators");
  EXPECT_EQ(times[2].nanoseconds, 30);
}

TEST(Profile, AFlameGraphGoesFromCallsToInstructions) {
  const Method method = two_operators();
  const CallTimes times = {.method = &method, .call = {9000, {{0, 2000}, {1, 5000}, {2, 1000}}}};
  const report::FlameGraph graph = flame_graph_of({times});
  std::vector<std::string> labels;
  labels.reserve(graph.flames.size());
  for (const report::Flame& flame : graph.flames) labels.push_back(flame.label);
  EXPECT_THAT(labels, ElementsAre("1: step", "aten::add.out", "0", "aten::clone.out", "1", "2"));
  EXPECT_EQ(graph.flames[1].parent, 0);
  EXPECT_DOUBLE_EQ(graph.flames[1].value, 3);  // microseconds of both
  EXPECT_EQ(graph.flames[5].parent, 1);
}

TEST(Profile, AnInstructionThatIsNotThereIsRefused) {
  const Method method = two_operators();
  const CallTimes last = {.method = &method, .call = {1, {{2, 1}}}};
  const CallTimes behind = {.method = &method, .call = {1, {{3, 1}}}};
  EXPECT_TRUE(check_times(last).has_value());
  EXPECT_EQ(check_times(behind).error().code, ErrorCode::kArtifact);
}

TEST(Profile, AnotherFileIsNoEtdump) {
  const std::string text = "This is no ETDump.";
  EXPECT_EQ(read_profile(std::as_bytes(std::span(text))).error().code, ErrorCode::kArtifact);
  EXPECT_EQ(read_profile({}).error().code, ErrorCode::kArtifact);
}

}  // namespace
}  // namespace polystate::program
