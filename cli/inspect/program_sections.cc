#include "cli/inspect/program_sections.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "artifact/zip_reader.h"
#include "cli/artifact_program.h"
#include "cli/text.h"
#include "core/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "program/operator_counts.h"
#include "program/pictures.h"
#include "program/program.h"
#include "program/weights.h"

namespace polystate::cli {
namespace {

using report::Block;
using report::Section;

// So many of the largest are shown one by one.
constexpr std::size_t kMostBars = 60;

// A larger graph is for --graph: a page would take long to show it.
constexpr std::size_t kMostNodes = 4000;
constexpr std::size_t kMostEdges = 5 * kMostNodes;

// A page has so many blocks of a memory plan, and reads and writes of the state, of each method.
constexpr std::size_t kMostBlocks = 4000;
constexpr std::size_t kMostSpans = 4000;

struct Part {
  std::string label;
  std::string details;
  std::uint64_t bytes;
};

// The largest parts as bars, the others as one.
report::Bars largest_bars(std::vector<Part> parts) {
  std::ranges::stable_sort(parts, std::ranges::greater(), &Part::bytes);
  report::Bars bars;
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i >= kMostBars) {
      rest += parts[i].bytes;
      continue;
    }
    bars.bars.push_back({.label = parts[i].label,
                         .value = static_cast<double>(parts[i].bytes),
                         .text = bytes_text(parts[i].bytes),
                         .details = parts[i].details});
  }
  if (rest > 0) {
    bars.bars.push_back({.label = std::to_string(parts.size() - kMostBars) + " others",
                         .value = static_cast<double>(rest),
                         .text = bytes_text(rest)});
  }
  return bars;
}

std::string weight_label(const program::Weight& weight) {
  if (weight.type.empty()) return "delegates' " + weight.name;
  return weight.name.empty() ? weight.type : weight.name + ": " + weight.type;
}

Section weights_section(const program::Program& program) {
  std::vector<Part> parts;
  for (const program::Weight& weight : program::weights_of(program)) {
    std::vector<std::string> methods;
    methods.reserve(weight.methods.size());
    for (const std::size_t index : weight.methods) methods.push_back(program.methods[index].name);
    parts.push_back({.label = weight_label(weight),
                     .details = methods.empty() ? "" : "used by " + joined(methods),
                     .bytes = weight.bytes.size()});
  }
  for (const program::Method& method : program.methods) {
    for (const program::Delegate& delegate : method.delegates)
      parts.push_back({.label = delegate.backend + "'s program in " + method.name,
                       .details = "",
                       .bytes = delegate.data.size()});
  }
  if (parts.empty())
    return {.title = "Weights", .blocks = {Block{report::Paragraph{.text = "There are none."}}}};
  return {.title = "Weights", .blocks = {Block{largest_bars(std::move(parts))}}};
}

report::Table operators_table(const program::Method& method) {
  report::Table table{
      .columns = {{.title = "operator or delegate"}, {.title = "calls", .is_right = true}}};
  for (const auto& [name, count] : program::operator_counts(method))
    table.rows.push_back(
        {{.text = name, .is_code = true}, {.text = std::to_string(count), .is_code = false}});
  return table;
}

Block graph_block(const program::Method& method, const MethodSpec& spec) {
  report::Graph graph = program::graph_of(method, names_of(spec));
  if (graph.nodes.size() > kMostNodes || graph.edges.size() > kMostEdges) {
    return Block{
        report::Paragraph{.text = "The graph has " + std::to_string(graph.nodes.size()) +
                                  " nodes and " + std::to_string(graph.edges.size()) +
                                  " edges, too many for a page: `polystate inspect DIR --graph " +
                                  method.name + " --format svg` draws it."}};
  }
  graph.caption = "What " + method.name + " computes, from its inputs and states downwards";
  return Block{std::move(graph)};
}

void add_state_timeline(Section& section, const program::Method& method) {
  report::Timeline states = program::state_timeline_of(method);
  const std::size_t left_out = program::keep_first_spans(states, kMostSpans);
  const std::size_t shown = states.steps;
  states.caption = "When its instructions read and write the state";
  if (!states.rows.empty()) section.blocks.push_back(Block{std::move(states)});
  if (left_out == 0) return;
  section.blocks.push_back(Block{report::Paragraph{
      .text = "Too many for a page, and left out: " + count_text(left_out, "use") +
              " of the state after the first " + count_text(shown, "instruction") + "."}});
}

void add_memory_plan(Section& section, const program::Method& method) {
  report::MemoryPlan plan = program::memory_plan_of(method);
  const std::size_t left_out = program::keep_largest_blocks(plan, kMostBlocks);
  plan.caption = "Where its activations lie: time to the right, " + bytes_text(plan.bytes) +
                 " of memory upwards";
  if (!plan.blocks.empty()) section.blocks.push_back(Block{std::move(plan)});
  if (left_out == 0) return;
  section.blocks.push_back(
      Block{report::Paragraph{.text = "Too many for a page, and left out: the " +
                                      std::to_string(left_out) + " smallest of its activations."}});
}

Section method_section(const program::Method& method, const MethodSpec& spec) {
  Section section{.title = "Method " + method.name};
  section.blocks.push_back(graph_block(method, spec));
  section.blocks.push_back(Block{report::Details{
      .summary = count_text(method.instructions.size(), "instruction") + " by operator",
      .blocks = {Block{operators_table(method)}}}});
  add_state_timeline(section, method);
  add_memory_plan(section, method);
  return section;
}

Result<std::vector<Section>> archive_sections(const Artifact& artifact) {
  const Result<std::vector<ZipEntry>> entries = list_zip(artifact.program()->bytes());
  const std::string& file = artifact.manifest().program.file;
  if (!entries) return Error{ErrorCode::kArtifact, file + ": " + entries.error().message};
  std::vector<Part> parts;
  for (const ZipEntry& entry : *entries)
    parts.push_back({.label = entry.name, .details = "", .bytes = entry.size});
  Section section{.title = "Program"};
  section.blocks.push_back(Block{report::Paragraph{
      .text =
          file + " is machine code, which has no graph of operators. This is in its archive:"}});
  section.blocks.push_back(Block{largest_bars(std::move(parts))});
  return std::vector<Section>{std::move(section)};
}

}  // namespace

Result<std::vector<Section>> program_sections(const Artifact& artifact) {
  if (!has_operators(artifact)) return archive_sections(artifact);
  const Result<program::Program> program = program_of(artifact);
  if (!program) return program.error();
  std::vector<Section> sections = {weights_section(*program)};
  Section methods{.title = "Graphs and memory plans"};
  for (const MethodSpec& spec : artifact.manifest().methods) {
    const Result<std::size_t> index = program::find_method(*program, spec.name);
    if (!index) return Error{ErrorCode::kArtifact, index.error().message};
    methods.sections.push_back(method_section(program->methods[*index], spec));
  }
  sections.push_back(std::move(methods));
  return sections;
}

}  // namespace polystate::cli
