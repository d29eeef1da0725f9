#include "cli/inspect/inspect_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/describe.h"
#include "cli/footprint.h"
#include "cli/inspect/program_sections.h"
#include "cli/text.h"
#include "core/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/shape.h"
#include "polystate/report/document.h"

namespace polystate::cli {
namespace {

using report::Block;
using report::Cell;
using report::Section;
using report::Tone;

using Row = std::vector<Cell>;

Cell plain(std::string text) { return {.text = std::move(text)}; }
Cell code(std::string text) { return {.text = std::move(text), .is_code = true}; }

report::Column number_column(const std::string& title) {
  return {.title = title, .is_right = true};
}

Section summary_section(const Artifact& artifact) {
  const Manifest& manifest = artifact.manifest();
  const ProgramSpec& program = manifest.program;
  report::Facts facts{
      .facts = {
          {.name = "Directory", .value = code(artifact.directory().string())},
          {.name = "Format", .value = plain(std::to_string(manifest.format_version))},
          {.name = "Exported by", .value = plain(versions_text(manifest.versions))},
          {.name = "Engine", .value = plain(program.engine)},
          {.name = "Backend", .value = plain(program.backend)},
          {.name = "Quantization",
           .value = plain(program.quantization.empty() ? "none" : program.quantization)},
          {.name = "Delegates", .value = plain(listed(program.delegates))},
          {.name = "SHA-256", .value = code(to_hex(artifact.digest()))},
      }};
  return {.title = "Artifact", .blocks = {Block{std::move(facts)}}};
}

std::string types_of_inputs(const MethodSpec& method) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const std::string written = method.inputs[i].written_from.has_value() ? ", written" : "";
    inputs.push_back(method.inputs[i].name + ": " + input_type_text(method, i) + written);
  }
  return inputs.empty() ? "none" : joined(inputs, "\n");
}

std::string types_of_outputs(const MethodSpec& method) {
  std::vector<std::string> outputs;
  outputs.reserve(method.outputs.size());
  for (std::size_t i = 0; i < method.outputs.size(); ++i)
    outputs.push_back(method.outputs[i].name + ": " + output_type_text(method, i));
  return outputs.empty() ? "none" : joined(outputs, "\n");
}

Section methods_section(const Manifest& manifest) {
  report::Table table{.columns = {{.title = "method"},
                                  {.title = "inputs"},
                                  {.title = "outputs"},
                                  {.title = "after a failure"},
                                  number_column("activations")}};
  for (const MethodSpec& method : manifest.methods) {
    const Cell failure = method.atomic ? Cell{.text = "state as it was", .tone = Tone::kGood}
                                       : Cell{.text = "reset or restore", .tone = Tone::kWarning};
    table.rows.push_back({code(method.name), code(types_of_inputs(method)),
                          code(types_of_outputs(method)), failure,
                          plain(bytes_text(method.activation_bytes))});
  }
  return {.title = "Methods", .blocks = {Block{std::move(table)}}};
}

// What each method takes for granted: sizes, values, guards, checks.
Section contract_section(const Manifest& manifest) {
  report::Table table{.columns = {{.title = "method"},
                                  {.title = "of"},
                                  {.title = "must hold"},
                                  {.title = "because, or where"}}};
  for (const MethodSpec& method : manifest.methods) {
    const std::vector<std::string> symbols = symbol_names(method);
    const auto add = [&](const std::string& of, const std::string& text, const std::string& why) {
      table.rows.push_back({code(method.name), plain(of), code(text), plain(why)});
    };
    for (const Symbol& symbol : method.symbols)
      add("size", symbol_text(symbol),
          "dimension " + std::to_string(symbol.dimension) + " of " +
              method.inputs[symbol.input].name);
    for (const InputSpec& input : method.inputs) {
      for (const ValueRange& range : input.values) {
        ValueRange bare = range;
        bare.reason.clear();
        add("values of " + input.name, value_range_text(bare, symbols), range.reason);
      }
    }
    for (const Guard& guard : method.guards) add("sizes", guard.text, guard.source);
    for (const Check& check : method.checks) add("values, while it runs", check.text, check.source);
  }
  if (table.rows.empty()) {
    return {
        .title = "Contract",
        .blocks = {Block{report::Paragraph{
            .text = "No sizes vary, and no values are limited: inputs have the types above."}}}};
  }
  return {.title = "Contract", .blocks = {Block{std::move(table)}}};
}

// What a method does with each state.
std::vector<Cell> uses_of(const MethodSpec& method, std::size_t states) {
  std::vector<Cell> uses(states);
  for (const std::size_t state : method.reads) uses[state] = {.text = "reads", .tone = Tone::kBlue};
  for (const StateWrite& write : method.writes) {
    Cell& use = uses[write.state];
    use = {.text = (use.text.empty() ? "" : use.text + ", ") + update_text(write),
           .tone = write.update == StateUpdate::kInPlace ? Tone::kGood : Tone::kWarning};
  }
  return uses;
}

Section state_section(const Manifest& manifest) {
  report::Table table{
      .caption = "Which methods read and update which states, and why so",
      .columns = {
          {.title = "state"}, {.title = "type"}, number_column("bytes"), {.title = "starts as"}}};
  std::vector<std::vector<Cell>> uses;  // by method
  for (const MethodSpec& method : manifest.methods) {
    table.columns.push_back({.title = method.name});
    uses.push_back(uses_of(method, manifest.state.size()));
  }
  for (std::size_t i = 0; i < manifest.state.size(); ++i) {
    const StateSpec& state = manifest.state[i];
    Row row = {code(state.name),
               code(std::string(name_of(state.dtype)) + " " + to_string(state.shape)),
               plain(bytes_text(bytes_of(state))), plain(state.zeros ? "zeros" : state.preview)};
    for (const std::vector<Cell>& of_method : uses) row.push_back(of_method[i]);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty())
    return {.title = "State", .blocks = {Block{report::Paragraph{.text = "There is none."}}}};
  return {.title = "State", .blocks = {Block{std::move(table)}}};
}

report::Bar bar(const std::string& label, std::uint64_t bytes, const std::string& details = "") {
  return {.label = label,
          .value = static_cast<double>(bytes),
          .text = bytes_text(bytes),
          .details = details};
}

Section memory_section(const Manifest& manifest) {
  const Footprint footprint = footprint_of(manifest);
  report::Bars bars{
      .bars = {bar("program", footprint.program_bytes, "weights and code, once a process"),
               bar("state", footprint.state_bytes, "in each session"),
               bar("activations", footprint.activation_bytes,
                   "in each session: the most that one method needs")}};
  return {.title = "Memory", .blocks = {Block{std::move(bars)}}};
}

Section constants_section(const Manifest& manifest) {
  report::Facts facts;
  for (const auto& [name, value] : manifest.constants)
    facts.facts.push_back({.name = name, .value = code(constant_text(value))});
  return {.title = "Constants", .blocks = {Block{std::move(facts)}}};
}

Section files_section(const Artifact& artifact) {
  report::Bars bars;
  for (const auto& [name, bytes] : file_sizes(artifact)) bars.bars.push_back(bar(name, bytes));
  return {.title = "Files", .blocks = {Block{std::move(bars)}}};
}

}  // namespace

Result<report::Document> inspect_page(const Artifact& artifact) {
  const Manifest& manifest = artifact.manifest();
  Result<std::vector<Section>> of_program = program_sections(artifact);
  if (!of_program) return of_program.error();
  report::Document document{.title = artifact.directory().filename().empty()
                                         ? artifact.directory().parent_path().filename().string()
                                         : artifact.directory().filename().string(),
                            .subtitle = count_text(manifest.methods.size(), "method") + ", " +
                                        count_text(manifest.state.size(), "state") + ", backend " +
                                        manifest.program.backend};
  std::vector<Section>& sections = document.sections;
  sections = {summary_section(artifact), methods_section(manifest), contract_section(manifest),
              state_section(manifest), memory_section(manifest)};
  std::ranges::move(*of_program, std::back_inserter(sections));
  if (!manifest.constants.empty()) sections.push_back(constants_section(manifest));
  sections.push_back(files_section(artifact));
  return document;
}

}  // namespace polystate::cli
