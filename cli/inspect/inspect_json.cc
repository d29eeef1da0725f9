#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/describe.h"
#include "cli/footprint.h"
#include "cli/inspect/inspect_report.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/sha256.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

// A number where the expression is one, else its text.
Json size_json(const Expression& size, std::span<const std::string> symbols) {
  if (size.is_constant()) return size.steps()[0].operand;
  return size.to_string(symbols);
}

Json limit_json(const std::optional<Expression>& limit, std::span<const std::string> symbols) {
  return limit.has_value() ? size_json(*limit, symbols) : Json();
}

Json symbols_json(const MethodSpec& method) {
  Json symbols = Json::array();
  for (const Symbol& symbol : method.symbols) {
    symbols.push_back({{"name", symbol.name},
                       {"input", method.inputs[symbol.input].name},
                       {"dimension", symbol.dimension},
                       {"min", symbol.min},
                       {"max", symbol.max}});
  }
  return symbols;
}

Json inputs_json(const MethodSpec& method) {
  const std::vector<std::string> symbols = symbol_names(method);
  Json inputs = Json::array();
  for (const InputSpec& input : method.inputs) {
    Json shape = Json::array();
    for (const Expression& size : input.shape) shape.push_back(size_json(size, symbols));
    Json values = Json::array();
    for (const ValueRange& range : input.values) {
      values.push_back({{"min", limit_json(range.min, symbols)},
                        {"max", limit_json(range.max, symbols)},
                        {"reason", range.reason}});
    }
    inputs.push_back({{"name", input.name},
                      {"dtype", name_of(input.dtype)},
                      {"shape", std::move(shape)},
                      {"values", std::move(values)},
                      {"written", input.written_from.has_value()}});
  }
  return inputs;
}

Json outputs_json(const MethodSpec& method) {
  const std::vector<std::string> symbols = symbol_names(method);
  Json outputs = Json::array();
  for (const OutputSpec& output : method.outputs) {
    Json shape = Json::array();
    for (const auto& size : output.shape) shape.push_back(limit_json(size, symbols));
    outputs.push_back(
        {{"name", output.name}, {"dtype", name_of(output.dtype)}, {"shape", std::move(shape)}});
  }
  return outputs;
}

Json method_json(const Manifest& manifest, const MethodSpec& method) {
  Json guards = Json::array();
  for (const Guard& guard : method.guards) {
    guards.push_back({{"text", guard.text}, {"source", guard.source}});
  }
  Json checks = Json::array();
  for (const Check& check : method.checks) {
    checks.push_back({{"id", check.id}, {"text", check.text}, {"source", check.source}});
  }
  Json reads = Json::array();
  for (const std::size_t state : method.reads) reads.push_back(manifest.state[state].name);
  Json writes = Json::array();
  for (const StateWrite& write : method.writes) {
    writes.push_back({{"state", manifest.state[write.state].name},
                      {"update", update_name(write.update)},
                      {"reason", write.reason}});
  }
  return {{"name", method.name},
          {"symbols", symbols_json(method)},
          {"inputs", inputs_json(method)},
          {"outputs", outputs_json(method)},
          {"guards", std::move(guards)},
          {"checks", std::move(checks)},
          {"reads", std::move(reads)},
          {"writes", std::move(writes)},
          {"atomic", method.atomic},
          {"checks_first", method.checks_first},
          {"activation_bytes", method.activation_bytes}};
}

Json methods_json(const Manifest& manifest) {
  Json methods = Json::array();
  for (const MethodSpec& method : manifest.methods) {
    methods.push_back(method_json(manifest, method));
  }
  return methods;
}

Json state_json(const Manifest& manifest) {
  Json states = Json::array();
  for (const StateSpec& state : manifest.state) {
    states.push_back({{"name", state.name},
                      {"dtype", name_of(state.dtype)},
                      {"shape", state.shape},
                      {"bytes", bytes_of(state)},
                      {"initial", state.zeros ? "zeros" : "stored"},
                      {"preview", state.preview}});
  }
  return states;
}

Json constants_json(const Manifest& manifest) {
  Json constants = Json::object();
  for (const auto& [name, constant] : manifest.constants) {
    constants[name] = std::visit([](const auto& value) { return Json(value); }, constant);
  }
  return constants;
}

Json program_json(const ProgramSpec& program) {
  return {{"engine", program.engine},
          {"file", program.file},
          {"backend", program.backend},
          {"quantization", program.quantization.empty() ? Json() : Json(program.quantization)},
          {"operators", program.operators},
          {"delegates", program.delegates}};
}

Json memory_json(const Manifest& manifest) {
  const Footprint footprint = footprint_of(manifest);
  return {{"program_bytes", footprint.program_bytes},
          {"state_bytes", footprint.state_bytes},
          {"activation_bytes", footprint.activation_bytes},
          {"session_bytes", footprint.state_bytes + footprint.activation_bytes}};
}

}  // namespace

std::string inspect_json(const Artifact& artifact) {
  const Manifest& manifest = artifact.manifest();
  const Json report = {{"directory", artifact.directory().string()},
                       {"sha256", to_hex(artifact.digest())},
                       {"format_version", manifest.format_version},
                       {"versions", manifest.versions},
                       {"program", program_json(manifest.program)},
                       {"methods", methods_json(manifest)},
                       {"state", state_json(manifest)},
                       {"constants", constants_json(manifest)},
                       {"memory", memory_json(manifest)},
                       {"files", file_sizes(artifact)}};
  // A directory's name need not be UTF-8; JSON must.
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace polystate::cli
