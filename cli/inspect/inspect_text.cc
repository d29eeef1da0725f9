#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/describe.h"
#include "cli/footprint.h"
#include "cli/inspect/inspect_report.h"
#include "cli/table.h"
#include "cli/text.h"
#include "core/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/sha256.h"
#include "polystate/core/shape.h"

namespace polystate::cli {
namespace {

// Lays out an artifact section by section.
class Report {
 public:
  Report(const Artifact& artifact, bool has_colour)
      : artifact_(artifact), manifest_(artifact.manifest()), has_colour_(has_colour) {}

  std::string text() && {
    add_summary();
    add_methods();
    add_state();
    add_constants();
    add_memory();
    add_files();
    return std::move(text_);
  }

 private:
  void add_section(const std::string& heading, const Table& table) {
    if (table.empty()) return;
    text_ += "\n" + emphasised(heading) + "\n" + table.text();
  }

  [[nodiscard]] std::string emphasised(const std::string& heading) const {
    return has_colour_ ? "\x1b[1m" + heading + "\x1b[0m" : heading;
  }

  void add_summary() {
    const ProgramSpec& program = manifest_.program;
    Table table;
    table.add_row({"Artifact", artifact_.directory().string()});
    table.add_row({"Format", std::to_string(manifest_.format_version)});
    table.add_row({"Exported by", versions_text(manifest_.versions)});
    table.add_row({"Engine", program.engine + ", backend " + program.backend});
    table.add_row({"Quantization", program.quantization.empty() ? "none" : program.quantization});
    table.add_row({"Operators", listed(program.operators)});
    table.add_row({"Delegates", listed(program.delegates)});
    table.add_row({"SHA-256", to_hex(artifact_.digest())});
    text_ += table.text();
  }

  void add_methods() {
    for (const MethodSpec& method : manifest_.methods) {
      Table table(2);
      add_inputs(table, method);
      add_outputs(table, method);
      for (const Guard& guard : method.guards) {
        table.add_row({"requires", "", with_source(guard.text, guard.source)});
      }
      for (const Check& check : method.checks) {
        table.add_row({"checks", "", with_source(check.text, check.source) + ", while it runs"});
      }
      add_effects(table, method);
      add_section("Method " + printable(method.name), table);
    }
  }

  static void add_inputs(Table& table, const MethodSpec& method) {
    const std::vector<std::string> symbols = symbol_names(method);
    for (std::size_t i = 0; i < method.inputs.size(); ++i) {
      const InputSpec& input = method.inputs[i];
      const std::string written = input.written_from.has_value() ? ", written by the call" : "";
      table.add_row({"input", input.name, input_type_text(method, i) + written});
      for (const ValueRange& range : input.values) {
        table.add_row({"", "", "values " + value_range_text(range, symbols)});
      }
    }
    if (method.inputs.empty()) table.add_row({"input", "none", ""});
  }

  static void add_outputs(Table& table, const MethodSpec& method) {
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      table.add_row({"output", method.outputs[i].name, output_type_text(method, i)});
    }
    if (method.outputs.empty()) table.add_row({"output", "none", ""});
  }

  void add_effects(Table& table, const MethodSpec& method) const {
    for (const std::size_t state : method.reads) {
      table.add_row({"reads", manifest_.state[state].name, ""});
    }
    for (const StateWrite& write : method.writes) {
      table.add_row({"updates", manifest_.state[write.state].name, update_text(write)});
    }
    if (!method.atomic) {
      table.add_row(
          {"", "",
           "not atomic: after a failure inside the engine the session must be reset or restored"});
    }
    table.add_row({"needs", "", bytes_text(method.activation_bytes) + " of activations"});
  }

  void add_state() {
    Table table(2);
    for (const StateSpec& state : manifest_.state) {
      const std::string type = std::string(name_of(state.dtype)) + " " + to_string(state.shape);
      table.add_row({state.name, type, bytes_text(bytes_of(state)),
                     state.zeros ? "starts as zeros" : "starts as " + state.preview});
    }
    table.align_right(2);
    add_section("State", table);
  }

  void add_constants() {
    Table table(2);
    for (const auto& [name, value] : manifest_.constants) {
      table.add_row({name, constant_text(value)});
    }
    add_section("Constants", table);
  }

  void add_memory() {
    const Footprint footprint = footprint_of(manifest_);
    const std::uint64_t session = footprint.state_bytes + footprint.activation_bytes;
    Table table(2);
    table.add_row({"program", bytes_text(footprint.program_bytes),
                   "weights and code, shared by all sessions"});
    table.add_row({"state", bytes_text(footprint.state_bytes), "in each session"});
    table.add_row({"activations", bytes_text(footprint.activation_bytes),
                   "in each session: the most that one method needs"});
    table.add_row({"second session", bytes_text(session), "its state and activations, at most"});
    table.align_right(1);
    add_section("Memory", table);
  }

  void add_files() {
    Table table(2);
    std::uint64_t total = 0;
    for (const auto& [name, bytes] : file_sizes(artifact_)) {
      table.add_row({name, bytes_text(bytes)});
      total += bytes;
    }
    table.add_row({"total", bytes_text(total)});
    table.align_right(1);
    add_section("Files", table);
  }

  const Artifact& artifact_;
  const Manifest& manifest_;
  bool has_colour_;
  std::string text_;
};

}  // namespace

std::string inspect_text(const Artifact& artifact, bool has_colour) {
  return Report(artifact, has_colour).text();
}

}  // namespace polystate::cli
