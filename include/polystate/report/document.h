#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A report as plain data: sections of texts, tables and pictures, which know nothing of what they
// show. render.h makes pages and files of it, and reads the same as JSON.
namespace polystate::report {

// What a colour says. The last three only tell groups apart.
enum class Tone : std::uint8_t {
  kPlain,
  kMuted,
  kGood,
  kWarning,
  kBad,
  kBlue,
  kViolet,
  kTeal,
};

// A kind of the things in a picture, which its legend names.
struct Group {
  std::string name = {};
  Tone tone = Tone::kPlain;
};

// The index of a group of the same picture; plain without one.
using GroupIndex = std::optional<std::size_t>;

struct Paragraph {
  std::string text = {};
  Tone tone = Tone::kPlain;
};

// A line of code that the text around it speaks of.
struct CodeMark {
  std::size_t line = 1;  // as the lines are numbered
  Tone tone = Tone::kWarning;
  std::string note = {};  // shown below the line
};

struct Code {
  std::string caption = {};
  std::string text = {};
  std::size_t first_line = 1;  // the number of the first line
  bool is_diff = false;        // lines that begin with + or - were added or removed; no numbers
  std::vector<CodeMark> marks = {};
};

struct Cell {
  std::string text = {};
  Tone tone = Tone::kPlain;
  bool is_code = false;
};

// Names with their values.
struct Fact {
  std::string name = {};
  Cell value = {};
};
struct Facts {
  std::vector<Fact> facts = {};
};

struct Column {
  std::string title = {};
  bool is_right = false;  // aligned to the right, as numbers are
};
struct Table {
  std::string caption = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows =
      {};  // a row has as many cells as there are columns, or fewer
};

// A node is a box of two lines.
struct GraphNode {
  std::string label = {};
  std::string note = {};     // the second line, smaller
  std::string details = {};  // shown when one points at the node
  GroupIndex group = {};
};
struct GraphEdge {
  std::size_t from = 0;  // indices of nodes
  std::size_t to = 0;
  std::string label = {};  // shown when one points at the edge
};
// Nodes come in the order in which they run: an edge to an earlier node goes back, as in a loop.
struct Graph {
  std::string caption = {};
  std::vector<Group> groups = {};
  std::vector<GraphNode> nodes = {};
  std::vector<GraphEdge> edges = {};
};

// Memory that is used from step `first` up to step `last`, that one included.
struct PlannedBlock {
  std::string label = {};
  std::string details = {};
  std::size_t first = 0;
  std::size_t last = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  GroupIndex group = {};
};
// Rectangles: time to the right, the place in memory upwards.
struct MemoryPlan {
  std::string caption = {};
  std::size_t steps = 0;
  std::uint64_t bytes = 0;  // of the whole arena
  std::vector<Group> groups = {};
  std::vector<PlannedBlock> blocks = {};
};

struct Bar {
  std::string label = {};
  double value = 0;       // its length; not negative
  std::string text = {};  // the value as people read it
  std::string details = {};
  GroupIndex group = {};
};
// Values side by side; the longest bar is that of the largest value.
struct Bars {
  std::string caption = {};
  std::vector<Group> groups = {};
  std::vector<Bar> bars = {};
};

// A part of a row, from step `first` up to step `last`, that one included.
struct Span {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string label = {};
  GroupIndex group = {};
};
struct TimelineRow {
  std::string label = {};
  std::vector<Span> spans = {};
};
// When things happen, or how long they live.
struct Timeline {
  std::string caption = {};
  std::size_t steps = 0;
  std::vector<Group> groups = {};
  std::vector<TimelineRow> rows = {};
};

// A box of a flame graph: as wide as its value, over the box that it is a part of.
struct Flame {
  std::string label = {};
  std::string details = {};
  double value = 0;                        // not negative
  std::optional<std::size_t> parent = {};  // the index of an earlier box; none at the bottom
  GroupIndex group = {};
};
struct FlameGraph {
  std::string caption = {};
  std::string unit = {};  // what a value counts, such as "ms"
  std::vector<Group> groups = {};
  std::vector<Flame> flames = {};
};

struct Block;

// Blocks that are shown when one asks for them.
struct Details {
  std::string summary;
  std::vector<Block> blocks;
};

struct Block {
  std::variant<Paragraph, Code, Facts, Table, Graph, MemoryPlan, Bars, Timeline, FlameGraph,
               Details>
      content;
};

struct Section {
  std::string title = {};
  std::vector<Block> blocks = {};
  std::vector<Section> sections = {};
};

struct Document {
  std::string title = {};
  std::string subtitle = {};
  std::vector<Section> sections = {};
};

}  // namespace polystate::report
