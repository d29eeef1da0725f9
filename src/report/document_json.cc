#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

// A key that nobody reads is a mistake of whoever wrote it.
void expect_known(const JsonCursor& at, std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : at.fields()) {
    if (std::ranges::find(keys, key) == keys.end()) value.fail("is unknown here");
  }
}

std::string optional_text(const JsonCursor& at, std::string_view key) { return at.string(key, {}); }

Tone read_tone(const JsonCursor& at, Tone otherwise = Tone::kPlain) {
  const auto given = at.optional("tone");
  if (!given) return otherwise;
  const auto tone = tone_named(given->string());
  if (!tone) given->fail_as_not("the name of a tone");
  return tone.value_or(otherwise);
}

// The elements of a list that may be left out, each read by `read`.
template <typename Read>
auto read_list(const JsonCursor& at, std::string_view key, const Read& read) {
  std::vector<decltype(read(at))> elements;
  const auto list = at.optional(key);
  if (!list) return elements;
  for (const JsonCursor& element : list->elements()) {
    if (!at.ok()) break;
    elements.push_back(read(element));
  }
  return elements;
}

Group read_group(const JsonCursor& at) {
  expect_known(at, {"name", "tone"});
  return {.name = at["name"].string(), .tone = read_tone(at)};
}

std::vector<Group> read_groups(const JsonCursor& at) { return read_list(at, "groups", read_group); }

GroupIndex read_group_index(const JsonCursor& at, const std::vector<Group>& groups) {
  const auto index = at.optional("group");
  if (!index) return std::nullopt;
  return index->index(groups.size(), "groups");
}

Cell read_cell(const JsonCursor& at) {
  if (at.is_string()) return {.text = at.string()};
  expect_known(at, {"text", "tone", "code"});
  return {.text = at["text"].string(),
          .tone = read_tone(at),
          .is_code = at.boolean("code", /*otherwise=*/false)};
}

Paragraph read_paragraph(const JsonCursor& at) {
  expect_known(at, {"kind", "text", "tone"});
  return {.text = at["text"].string(), .tone = read_tone(at)};
}

CodeMark read_mark(const JsonCursor& at) {
  expect_known(at, {"line", "tone", "note"});
  return {.line = static_cast<std::size_t>(at["line"].integer(0)),
          .tone = read_tone(at, Tone::kWarning),
          .note = optional_text(at, "note")};
}

Code read_code(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "text", "first_line", "diff", "marks"});
  return {.caption = optional_text(at, "caption"),
          .text = at["text"].string(),
          .first_line = at.size("first_line", 1),
          .is_diff = at.boolean("diff", /*otherwise=*/false),
          .marks = read_list(at, "marks", read_mark)};
}

Facts read_facts(const JsonCursor& at) {
  expect_known(at, {"kind", "facts"});
  return {.facts = read_list(at, "facts", [](const JsonCursor& fact) {
            expect_known(fact, {"name", "value"});
            return Fact{.name = fact["name"].string(), .value = read_cell(fact["value"])};
          })};
}

Column read_column(const JsonCursor& at) {
  if (at.is_string()) return {.title = at.string()};
  expect_known(at, {"title", "right"});
  return {.title = at["title"].string(), .is_right = at.boolean("right", /*otherwise=*/false)};
}

Table read_table(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "columns", "rows"});
  Table table{.caption = optional_text(at, "caption"),
              .columns = read_list(at, "columns", read_column),
              .rows = {}};
  const std::size_t width = table.columns.size();
  table.rows = read_list(at, "rows", [width](const JsonCursor& row) {
    std::vector<Cell> cells;
    for (const JsonCursor& cell : row.elements(width)) cells.push_back(read_cell(cell));
    return cells;
  });
  return table;
}

Graph read_graph(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "groups", "nodes", "edges"});
  Graph graph{
      .caption = optional_text(at, "caption"), .groups = read_groups(at), .nodes = {}, .edges = {}};
  graph.nodes = read_list(at, "nodes", [&](const JsonCursor& node) {
    expect_known(node, {"label", "note", "details", "group"});
    return GraphNode{.label = node["label"].string(),
                     .note = optional_text(node, "note"),
                     .details = optional_text(node, "details"),
                     .group = read_group_index(node, graph.groups)};
  });
  graph.edges = read_list(at, "edges", [&](const JsonCursor& edge) {
    expect_known(edge, {"from", "to", "label"});
    return GraphEdge{.from = edge["from"].index(graph.nodes.size(), "nodes"),
                     .to = edge["to"].index(graph.nodes.size(), "nodes"),
                     .label = optional_text(edge, "label")};
  });
  return graph;
}

// The first and the last step of a thing, in their order and below `steps`.
std::pair<std::size_t, std::size_t> read_steps(const JsonCursor& at, std::size_t steps) {
  const std::size_t first = at["first"].index(steps, "steps");
  const std::size_t last = at["last"].index(steps, "steps");
  if (at.ok() && last < first) at["last"].fail("is before the first step");
  return {first, last};
}

PlannedBlock read_planned_block(const JsonCursor& at, const MemoryPlan& plan) {
  expect_known(at, {"label", "details", "first", "last", "offset", "bytes", "group"});
  const auto [first, last] = read_steps(at, plan.steps);
  PlannedBlock block{.label = at["label"].string(),
                     .details = optional_text(at, "details"),
                     .first = first,
                     .last = last,
                     .offset = at["offset"].size(),
                     .bytes = at["bytes"].size(),
                     .group = read_group_index(at, plan.groups)};
  if (at.ok() && (block.offset > plan.bytes || block.bytes > plan.bytes - block.offset)) {
    at.fail("ends behind the arena's " + std::to_string(plan.bytes) + " bytes");
  }
  return block;
}

MemoryPlan read_memory_plan(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "groups", "steps", "bytes", "blocks"});
  MemoryPlan plan{.caption = optional_text(at, "caption"),
                  .steps = at["steps"].size(),
                  .bytes = at["bytes"].size(),
                  .groups = read_groups(at),
                  .blocks = {}};
  plan.blocks = read_list(at, "blocks",
                          [&](const JsonCursor& block) { return read_planned_block(block, plan); });
  return plan;
}

Bars read_bars(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "groups", "bars"});
  Bars bars{.caption = optional_text(at, "caption"), .groups = read_groups(at), .bars = {}};
  bars.bars = read_list(at, "bars", [&](const JsonCursor& bar) {
    expect_known(bar, {"label", "value", "text", "details", "group"});
    return Bar{.label = bar["label"].string(),
               .value = bar["value"].nonnegative_number(),
               .text = optional_text(bar, "text"),
               .details = optional_text(bar, "details"),
               .group = read_group_index(bar, bars.groups)};
  });
  return bars;
}

TimelineRow read_timeline_row(const JsonCursor& at, const Timeline& timeline) {
  expect_known(at, {"label", "spans"});
  return {.label = at["label"].string(),
          .spans = read_list(at, "spans", [&](const JsonCursor& span) {
            expect_known(span, {"first", "last", "label", "group"});
            const auto [first, last] = read_steps(span, timeline.steps);
            return Span{.first = first,
                        .last = last,
                        .label = optional_text(span, "label"),
                        .group = read_group_index(span, timeline.groups)};
          })};
}

Timeline read_timeline(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "groups", "steps", "rows"});
  Timeline timeline{.caption = optional_text(at, "caption"),
                    .steps = at["steps"].size(),
                    .groups = read_groups(at),
                    .rows = {}};
  timeline.rows = read_list(
      at, "rows", [&](const JsonCursor& row) { return read_timeline_row(row, timeline); });
  return timeline;
}

FlameGraph read_flame_graph(const JsonCursor& at) {
  expect_known(at, {"kind", "caption", "unit", "groups", "flames"});
  FlameGraph graph{.caption = optional_text(at, "caption"),
                   .unit = optional_text(at, "unit"),
                   .groups = read_groups(at),
                   .flames = {}};
  std::size_t earlier = 0;
  graph.flames = read_list(at, "flames", [&](const JsonCursor& flame) {
    expect_known(flame, {"label", "value", "parent", "details", "group"});
    const auto parent = flame.optional("parent");
    Flame read{.label = flame["label"].string(),
               .details = optional_text(flame, "details"),
               .value = flame["value"].nonnegative_number(),
               .parent = std::nullopt,
               .group = read_group_index(flame, graph.groups)};
    if (parent) read.parent = parent->index(earlier, "earlier flames");
    ++earlier;
    return read;
  });
  return graph;
}

Block read_block(const JsonCursor& at);

Details read_details(const JsonCursor& at) {
  expect_known(at, {"kind", "summary", "blocks"});
  return {.summary = at["summary"].string(), .blocks = read_list(at, "blocks", read_block)};
}

struct BlockKind {
  std::string_view name;
  Block (*read)(const JsonCursor& at);
};

template <auto read>
Block as_block(const JsonCursor& at) {
  return Block{read(at)};
}

constexpr std::array kBlockKinds = {
    BlockKind{"text", as_block<read_paragraph>},
    BlockKind{"code", as_block<read_code>},
    BlockKind{"facts", as_block<read_facts>},
    BlockKind{"table", as_block<read_table>},
    BlockKind{"graph", as_block<read_graph>},
    BlockKind{"memory_plan", as_block<read_memory_plan>},
    BlockKind{"bars", as_block<read_bars>},
    BlockKind{"timeline", as_block<read_timeline>},
    BlockKind{"flame_graph", as_block<read_flame_graph>},
    BlockKind{"details", as_block<read_details>},
};

// NOLINTNEXTLINE(misc-no-recursion): parse_json limits the depth.
Block read_block(const JsonCursor& at) {
  const std::string name = at["kind"].string();
  const auto* const kind = std::ranges::find(kBlockKinds, name, &BlockKind::name);
  if (kind != kBlockKinds.end()) return kind->read(at);
  at["kind"].fail_as_not("the kind of a block");
  return {};
}

// NOLINTNEXTLINE(misc-no-recursion): parse_json limits the depth.
Section read_section(const JsonCursor& at) {
  expect_known(at, {"title", "blocks", "sections"});
  return {.title = at["title"].string(),
          .blocks = read_list(at, "blocks", read_block),
          .sections = read_list(at, "sections", read_section)};
}

}  // namespace

Result<Document> read_report(std::string_view json) {
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return Error{ErrorCode::kContract, "report: " + parsed.error().message};
  Status status;
  const JsonCursor root(*parsed, status, "report");
  expect_known(root, {"title", "subtitle", "sections"});
  Document document{.title = root["title"].string(),
                    .subtitle = optional_text(root, "subtitle"),
                    .sections = read_list(root, "sections", read_section)};
  if (!status) return Error{ErrorCode::kContract, status.error().message};
  return document;
}

}  // namespace polystate::report
