#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"

namespace polystate::report {
namespace {

using ::testing::HasSubstr;

// A document with one section of these blocks.
Result<Document> read_blocks(const std::string& blocks) {
  return read_report(R"({"title": "t", "sections": [{"title": "s", "blocks": [)" + blocks + "]}]}");
}

// The block that a document with one has.
template <typename T>
T only_block(const std::string& json) {
  const Result<Document> document = read_blocks(json);
  if (!document) {
    ADD_FAILURE() << document.error().message;
    return {};
  }
  return std::get<T>(document->sections.front().blocks.front().content);
}

std::string refusal(const std::string& json) {
  const Result<Document> document = read_blocks(json);
  if (document.has_value()) return "accepted";
  EXPECT_EQ(document.error().code, ErrorCode::kContract);
  return document.error().message;
}

TEST(ReportJson, SectionsNest) {
  const Document document = read_report(
                                R"({"title": "a", "subtitle": "b",
              "sections": [{"title": "c", "sections": [{"title": "d"}]}, {"title": "e"}]})")
                                .value();
  EXPECT_EQ(document.subtitle, "b");
  ASSERT_EQ(document.sections.size(), 2);
  EXPECT_EQ(document.sections[0].sections[0].title, "d");
}

TEST(ReportJson, CellsAreTextsOrHaveATone) {
  const auto table = only_block<Table>(
      R"({"kind": "table", "columns": ["a", {"title": "b", "right": true}],
          "rows": [["1", {"text": "2", "tone": "good", "code": true}], ["3"]]})");
  EXPECT_TRUE(table.columns[1].is_right);
  EXPECT_EQ(table.rows[0][1].tone, Tone::kGood);
  EXPECT_TRUE(table.rows[0][1].is_code);
  EXPECT_EQ(table.rows[1].size(), 1);
}

TEST(ReportJson, CodeHasMarks) {
  const auto code = only_block<Code>(
      R"({"kind": "code", "text": "x", "first_line": 7, "marks": [{"line": 7, "note": "n"}]})");
  EXPECT_EQ(code.first_line, 7);
  ASSERT_EQ(code.marks.size(), 1);
  EXPECT_EQ(code.marks[0].tone, Tone::kWarning);
}

TEST(ReportJson, PicturesAreRead) {
  const auto graph = only_block<Graph>(
      R"({"kind": "graph", "groups": [{"name": "g", "tone": "blue"}],
          "nodes": [{"label": "a", "group": 0}, {"label": "b"}], "edges": [{"from": 0, "to": 1}]})");
  EXPECT_EQ(graph.nodes[0].group, 0);
  EXPECT_EQ(graph.nodes[1].group, std::nullopt);
  EXPECT_EQ(graph.edges[0].to, 1);
  const auto plan = only_block<MemoryPlan>(
      R"({"kind": "memory_plan", "steps": 3, "bytes": 64,
          "blocks": [{"label": "a", "first": 0, "last": 2, "offset": 32, "bytes": 32}]})");
  EXPECT_EQ(plan.blocks[0].offset, 32);
  const auto timeline = only_block<Timeline>(
      R"({"kind": "timeline", "steps": 3, "rows": [{"label": "a", "spans": [{"first": 1, "last": 2}]}]})");
  EXPECT_EQ(timeline.rows[0].spans[0].last, 2);
  const auto bars =
      only_block<Bars>(R"({"kind": "bars", "bars": [{"label": "a", "value": 1.5, "text": "t"}]})");
  EXPECT_DOUBLE_EQ(bars.bars[0].value, 1.5);
  const auto flames = only_block<FlameGraph>(
      R"({"kind": "flame_graph", "unit": "ms",
          "flames": [{"label": "a", "value": 2}, {"label": "b", "value": 1, "parent": 0}]})");
  EXPECT_EQ(flames.flames[1].parent, 0);
  const auto details = only_block<Details>(
      R"({"kind": "details", "summary": "s", "blocks": [{"kind": "text", "text": "x"}]})");
  EXPECT_EQ(details.blocks.size(), 1);
}

TEST(ReportJson, WhatIsNotAsItMustBeIsNamed) {
  EXPECT_THAT(refusal(R"({"kind": "picture"})"), HasSubstr("sections[0].blocks[0].kind"));
  EXPECT_THAT(refusal(R"({"kind": "text", "text": "x", "tine": "good"})"),
              HasSubstr("tine: is unknown"));
  EXPECT_THAT(refusal(R"({"kind": "text", "text": "x", "tone": "pink"})"),
              HasSubstr("must be the name of a tone"));
  EXPECT_THAT(refusal(R"({"kind": "graph", "nodes": [], "edges": [{"from": 0, "to": 0}]})"),
              HasSubstr("there are no nodes"));
  EXPECT_THAT(refusal(R"({"kind": "table", "columns": ["a"], "rows": [["1", "2"]]})"),
              HasSubstr("rows[0]"));
}

TEST(ReportJson, PicturesStayWithinTheirLimits) {
  EXPECT_THAT(refusal(R"({"kind": "memory_plan", "steps": 3, "bytes": 64,
          "blocks": [{"label": "a", "first": 0, "last": 3, "offset": 0, "bytes": 1}]})"),
              HasSubstr("blocks[0].last"));
  EXPECT_THAT(refusal(R"({"kind": "memory_plan", "steps": 3, "bytes": 64,
          "blocks": [{"label": "a", "first": 0, "last": 0, "offset": 1, "bytes": 64}]})"),
              HasSubstr("ends behind the arena's 64 bytes"));
  EXPECT_THAT(refusal(R"({"kind": "timeline", "steps": 3,
          "rows": [{"label": "a", "spans": [{"first": 2, "last": 1}]}]})"),
              HasSubstr("is before the first step"));
  EXPECT_THAT(refusal(R"({"kind": "bars", "bars": [{"label": "a", "value": -1}]})"),
              HasSubstr("value"));
  EXPECT_THAT(refusal(R"({"kind": "flame_graph",
          "flames": [{"label": "a", "value": 1, "parent": 0}]})"),
              HasSubstr("parent"));
}

TEST(ReportJson, WhatIsNoJsonIsRefused) {
  EXPECT_EQ(read_report("nothing").error().code, ErrorCode::kContract);
  const std::string deep(100000, '[');
  EXPECT_EQ(read_report(deep).error().code, ErrorCode::kContract);
}

}  // namespace
}  // namespace polystate::report
