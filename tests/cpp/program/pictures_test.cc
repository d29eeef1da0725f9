#include "program/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/report/document.h"
#include "program/fixture_program.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> labels_of(const report::Graph& graph) {
  std::vector<std::string> labels;
  labels.reserve(graph.nodes.size());
  for (const report::GraphNode& node : graph.nodes) labels.push_back(node.label);
  return labels;
}

// "a -> b" of every edge.
std::vector<std::string> edges_of(const report::Graph& graph) {
  std::vector<std::string> edges;
  edges.reserve(graph.edges.size());
  for (const report::GraphEdge& edge : graph.edges)
    edges.push_back(graph.nodes[edge.from].label + " -> " + graph.nodes[edge.to].label);
  return edges;
}

TEST(ProgramGraph, AValueGoesFromAnInputToAnOutput) {
  const FixtureProgram counter("counter");
  const report::Graph graph =
      graph_of(counter.method("plus_one"), {.inputs = {"x"}, .outputs = {"sum"}});
  EXPECT_THAT(edges_of(graph), Contains("input x -> aten::add.out"));
  EXPECT_THAT(edges_of(graph), Contains("aten::add.out -> output sum"));
}

TEST(ProgramGraph, AStateThatIsWrittenHasANodeOfItsNewValue) {
  const FixtureProgram counter("counter");
  const std::vector<std::string> written = labels_of(graph_of(counter.method("add"), {}));
  EXPECT_THAT(written, Contains("state total"));
  EXPECT_THAT(written, Contains("new state total"));
  const std::vector<std::string> read = labels_of(graph_of(counter.method("get"), {}));
  EXPECT_THAT(read, Contains("state total"));
  EXPECT_THAT(read, Not(Contains("new state total")));
}

TEST(ProgramGraph, EveryGraphOfTheFixturesLeadsDownwards) {
  for (const char* const name : {"counter", "cache", "checked", "types", "layered", "writing"}) {
    const FixtureProgram fixture(name);
    for (const Method& method : fixture.program().methods) {
      const report::Graph graph = graph_of(method, {});
      EXPECT_GE(graph.nodes.size(), method.inputs.size() + method.outputs.size());
      for (const report::GraphEdge& edge : graph.edges) EXPECT_LT(edge.from, edge.to);
    }
  }
}

TEST(ProgramGraph, WhatReadsBehindBranchesMayHaveTheValueOfEach) {
  const Tensor tensor{.dtype = "float32", .sizes = {2}, .bytes = 8};
  const Method method{.values = {tensor, tensor, tensor, Value{true}},
                      .inputs = {0, 1},
                      .outputs = {2},
                      .instructions = {{Instruction::Kind::kJump, 3, {3}},
                                       {Instruction::Kind::kMove, 0, {0, 2}},
                                       {Instruction::Kind::kJump, 4, {3}},
                                       {Instruction::Kind::kMove, 0, {1, 2}}}};
  const std::vector<std::string> edges = edges_of(graph_of(method, {}));
  EXPECT_EQ(std::ranges::count(edges, "move -> output 0"), 2);
}

TEST(ProgramMemory, BlocksThatLiveAtOneTimeLieApart) {
  const FixtureProgram layered("layered");
  const report::MemoryPlan plan = memory_plan_of(layered.method("step"));
  ASSERT_GT(plan.blocks.size(), 1);
  const auto is_view = [](const report::PlannedBlock& block) {
    return block.details.find("et_view") != std::string::npos;
  };
  for (std::size_t a = 0; a < plan.blocks.size(); ++a) {
    EXPECT_LE(plan.blocks[a].offset + plan.blocks[a].bytes, plan.bytes);
    for (std::size_t b = a + 1; b < plan.blocks.size(); ++b) {
      const report::PlannedBlock& x = plan.blocks[a];
      const report::PlannedBlock& y = plan.blocks[b];
      const bool meet_in_time = x.first <= y.last && y.first <= x.last;
      const bool meet_in_memory = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
      if (is_view(x) || is_view(y)) continue;
      EXPECT_FALSE(meet_in_time && meet_in_memory) << x.label << " and " << y.label;
    }
  }
}

TEST(ProgramMemory, StatesHaveARowEach) {
  const FixtureProgram counter("counter");
  const report::Timeline timeline = state_timeline_of(counter.method("add"));
  ASSERT_EQ(timeline.rows.size(), 2);
  EXPECT_THAT(state_timeline_of(counter.method("plus_one")).rows, IsEmpty());
}

TEST(ProgramMemory, ATimelineHasItsFirstSpansWholeStepsOfThem) {
  const auto spans = [](const std::vector<std::size_t>& steps) {
    std::vector<report::Span> made;
    made.reserve(steps.size());
    for (const std::size_t step : steps) made.push_back({.first = step, .last = step});
    return made;
  };
  const report::Timeline whole{.steps = 9,
                               .rows = {{.label = "a", .spans = spans({0, 3, 5})},
                                        {.label = "b", .spans = spans({3, 4})},
                                        {.label = "c", .spans = spans({8})}}};
  report::Timeline timeline = whole;
  EXPECT_EQ(keep_first_spans(timeline, 6), 0);
  EXPECT_EQ(timeline.steps, 9);
  EXPECT_EQ(keep_first_spans(timeline, 4), 2);
  EXPECT_EQ(timeline.steps, 5);
  ASSERT_EQ(timeline.rows.size(), 2);
  EXPECT_EQ(timeline.rows[0].spans.size(), 2);
  EXPECT_EQ(timeline.rows[1].spans.size(), 2);
  timeline = whole;
  EXPECT_EQ(keep_first_spans(timeline, 2), 5) << "not one of the two of step 3";
  EXPECT_EQ(timeline.steps, 3);
}

TEST(ProgramMemory, APlanHasItsLargestBlocks) {
  report::MemoryPlan plan;
  for (const std::uint64_t bytes : {4, 9, 1, 7}) plan.blocks.push_back({.bytes = bytes});
  EXPECT_EQ(keep_largest_blocks(plan, 4), 0);
  EXPECT_EQ(keep_largest_blocks(plan, 2), 2);
  ASSERT_EQ(plan.blocks.size(), 2);
  EXPECT_EQ(plan.blocks[0].bytes, 9);
  EXPECT_EQ(plan.blocks[1].bytes, 7);
}

}  // namespace
}  // namespace polystate::program
