#include "profile/call_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::profile {
namespace {

using ::testing::ElementsAre;

constexpr OperatorTime::Kind kKernel = OperatorTime::Kind::kKernel;
constexpr OperatorTime::Kind kCopy = OperatorTime::Kind::kCopy;

TEST(CallTimes, OperatorsAreSummedUpAndSorted) {
  const CallTimes first = {.method = "step",
                           .nanoseconds = 100,
                           .operators = {{"aten::add.out", "0", kKernel, 20},
                                         {"aten::clone.out", "1", kCopy, 50},
                                         {"aten::add.out", "2", kKernel, 10}}};
  const CallTimes second = {
      .method = "step", .nanoseconds = 40, .operators = {{"aten::clone.out", "1", kCopy, 30}}};
  const std::vector<OperatorSum> sums = operator_sums({first, second});
  ASSERT_EQ(sums.size(), 3);
  EXPECT_EQ(sums[0].name, "aten::clone.out");
  EXPECT_EQ(sums[0].calls, 2);
  EXPECT_EQ(sums[0].nanoseconds, 80);
  EXPECT_EQ(sums[1].name, "aten::add.out");
  EXPECT_EQ(sums[1].nanoseconds, 30);
  EXPECT_EQ(sums[2].name, "outside of operators");
  EXPECT_EQ(sums[2].nanoseconds, 30);
}

TEST(CallTimes, WhatOverlapsLeavesNothingOutside) {
  const CallTimes call = {
      .method = "step", .nanoseconds = 10, .operators = {{"a", "0", kKernel, 20}}};
  EXPECT_EQ(operator_sums({call}).back().nanoseconds, 0);
}

TEST(CallTimes, AFlameGraphGoesFromCallsToOperators) {
  const CallTimes call = {.method = "step",
                          .nanoseconds = 9000,
                          .operators = {{"aten::add.out", "0", kKernel, 2000},
                                        {"aten::clone.out", "1", kCopy, 5000},
                                        {"aten::add.out", "2", kKernel, 1000}}};
  const report::FlameGraph graph = flame_graph_of({call});
  std::vector<std::string> labels;
  labels.reserve(graph.flames.size());
  for (const report::Flame& flame : graph.flames) labels.push_back(flame.label);
  EXPECT_THAT(labels, ElementsAre("1: step", "aten::add.out", "0", "aten::clone.out", "1", "2"));
  EXPECT_EQ(graph.flames[1].parent, 0);
  EXPECT_DOUBLE_EQ(graph.flames[1].value, 3);  // microseconds of both
  EXPECT_EQ(graph.flames[5].parent, 1);
  EXPECT_NE(graph.flames[1].group, graph.flames[3].group);
}

}  // namespace
}  // namespace polystate::profile
