#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/svg.h"

namespace polystate::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++found;
  return found;
}

Graph small_graph() {
  Graph graph{
      .caption = "step \"1\"", .groups = {{"state", Tone::kViolet}}, .nodes = {}, .edges = {}};
  graph.nodes.push_back({.label = "cache", .note = "float32 [2]", .details = "", .group = 0});
  graph.nodes.push_back({.label = "add", .note = "", .details = "a\\b", .group = {}});
  graph.edges.push_back({.from = 0, .to = 1, .label = "v1"});
  return graph;
}

TEST(Pictures, AGraphIsAFileOfSvg) {
  const std::string svg = graph_svg(small_graph());
  EXPECT_THAT(svg, StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns="));
  EXPECT_EQ(count(svg, "<rect"), 2);
  EXPECT_THAT(svg, HasSubstr("<title>cache \u2192 add\nv1</title>"));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"step &quot;1&quot;\""));
}

TEST(Pictures, AGraphIsATextInDot) {
  const std::string dot = graph_dot(small_graph());
  EXPECT_THAT(dot, StartsWith("digraph \"step \\\"1\\\"\" {\n"));
  EXPECT_THAT(dot, HasSubstr("n0 [label=\"cache\\nfloat32 [2]\", fillcolor=\"#fbefff\""));
  EXPECT_THAT(dot, HasSubstr("tooltip=\"a\\\\b\""));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1 [label=\"v1\"];\n}\n"));
}

TEST(Pictures, NamesInDotCannotMoveTheCursor) {
  Graph graph;
  graph.nodes.push_back({.label = "\x1b[2Ja\u202Eb", .group = {}});
  EXPECT_THAT(graph_dot(graph), HasSubstr("label=\"U+001B[2JaU+202Eb\""));
}

TEST(Pictures, TimeGoesRightAndMemoryUp) {
  MemoryPlan plan{.caption = "", .steps = 2, .bytes = 4, .groups = {}, .blocks = {}};
  plan.blocks.push_back(
      {.label = "low", .details = "", .first = 0, .last = 0, .offset = 0, .bytes = 1, .group = {}});
  plan.blocks.push_back({.label = "high",
                         .details = "",
                         .first = 1,
                         .last = 1,
                         .offset = 2,
                         .bytes = 2,
                         .group = {}});
  const std::string svg = memory_plan_element(plan);
  // The picture is 900 wide from 84, and 360 high from 10.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"84\" y=\"280\" width=\"450\" height=\"90\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"534\" y=\"10\" width=\"450\" height=\"180\""));
}

TEST(Pictures, PartsOfAFlameStandOverIt) {
  FlameGraph flames{.caption = "", .unit = "ms", .groups = {}, .flames = {}};
  flames.flames.push_back({.label = "call", .details = "", .value = 10, .parent = {}});
  flames.flames.push_back({.label = "a", .details = "", .value = 4, .parent = 0});
  flames.flames.push_back({.label = "b", .details = "", .value = 5, .parent = 0});
  const std::string svg = flame_svg(flames);
  EXPECT_THAT(svg, HasSubstr("<rect x=\"8\" y=\"28\" width=\"1000\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"8\" y=\"8\" width=\"400\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"408\" y=\"8\" width=\"500\""));
  EXPECT_THAT(svg, HasSubstr("<title>b\n5 ms</title>"));
}

TEST(Pictures, PicturesOfNothingAreWhole) {
  for (const std::string& svg :
       {graph_svg({}), flame_svg({}), memory_plan_element({}), timeline_element({})}) {
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

}  // namespace
}  // namespace polystate::report
