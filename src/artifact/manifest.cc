#include "polystate/artifact/manifest.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/method_reader.h"
#include "artifact/unique.h"
#include "core/json.h"
#include "core/json_cursor.h"
#include "core/names.h"
#include "core/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

// The version comes first: what else an unknown one means is not for this reader to judge.
void check_format(const JsonCursor& at) {
  const std::string format = at["format"].text();
  if (format != "polystate") {
    at["format"].fail("is " + in_quotes(format) + "; an artifact says \"polystate\"");
  }
  const std::int64_t version = at["format_version"].integer(1);
  if (version > Manifest::kFormatVersion) {
    at["format_version"].fail("is " + std::to_string(version) +
                                  ", made by a newer polystate: this one reads version " +
                                  std::to_string(Manifest::kFormatVersion),
                              ErrorCode::kUnsupported);
  }
}

std::vector<std::string> read_texts(const JsonCursor& at) {
  std::vector<std::string> texts;
  for (const JsonCursor& text : at.elements(Manifest::kMaxOperators)) {
    texts.push_back(text.nonempty_text());
  }
  return texts;
}

std::map<std::string, std::string> read_versions(const JsonCursor& at) {
  std::map<std::string, std::string> versions;
  for (const auto& [name, version] : at.fields(Manifest::kMaxVersions)) {
    versions[std::string(name)] = version.nonempty_text();
  }
  return versions;
}

ProgramSpec read_program(const JsonCursor& at) {
  at.expect_keys({"engine", "file", "backend", "quantization", "operators", "delegates"});
  ProgramSpec program{
      .engine = at["engine"].text(),
      .file = at["file"].file_name(),
      .backend = at["backend"].nonempty_text(),
      .quantization = at["quantization"].is_null() ? "" : at["quantization"].nonempty_text(),
      .operators = read_texts(at["operators"]),
      .delegates = read_texts(at["delegates"]),
  };
  if (program.engine != "executorch" && program.engine != "aoti") {
    at["engine"].fail(in_quotes(program.engine) + " is neither \"executorch\" nor \"aoti\"");
  }
  return program;
}

std::map<std::string, std::uint64_t> read_files(const JsonCursor& at) {
  std::map<std::string, std::uint64_t> files;
  for (const auto& [name, size] : at.fields(Manifest::kMaxFiles)) {
    if (!is_file_name(name)) {
      at.fail(in_quotes(name) + " is not a file name (letters, digits, '.', '_' and '-')");
    }
    if (name == "manifest.json" || name == "SHA256SUMS") {
      at.fail(in_quotes(name) + " is not listed here");
    }
    files[std::string(name)] = static_cast<std::uint64_t>(size.integer(1));
  }
  return files;
}

Constant read_constant(const JsonCursor& at) {
  if (at.is_string()) return at.string();
  if (at.is_boolean()) return at.boolean();
  if (at.is_integer()) return at.integer();
  return at.number();
}

std::map<std::string, Constant> read_constants(const JsonCursor& at) {
  std::map<std::string, Constant> constants;
  for (const auto& [name, constant] : at.fields(Manifest::kMaxConstants)) {
    if (!is_dotted_name(name)) {
      at.fail(in_quotes(name) + " is not a name (words with dots between)");
    }
    constants[std::string(name)] = read_constant(constant);
  }
  return constants;
}

StateSpec read_state(const JsonCursor& at) {
  at.expect_keys({"name", "dtype", "shape", "initial", "preview"});
  const std::string initial = at["initial"].text();
  if (initial != "zeros" && initial != "stored") {
    at["initial"].fail(in_quotes(initial) + " is neither \"zeros\" nor \"stored\"");
  }
  StateSpec state{
      .name = at["name"].dotted_name(),
      .dtype = read_dtype(at["dtype"]),
      .shape = {},
      .zeros = initial == "zeros",
      .preview = at["preview"].text(),
  };
  for (const JsonCursor& size : at["shape"].elements(Manifest::kMaxRank)) {
    state.shape.push_back(size.integer(0));
  }
  return state;
}

// The states of a session lie in memory together.
void check_state_bytes(const JsonCursor& at, const std::vector<StateSpec>& states) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::optional<std::size_t> count = element_count(states[i].dtype, states[i].shape);
    if (!count) {
      return at.element(i)["shape"].fail(to_string(states[i].shape) +
                                         " needs more than 2**63 - 1 bytes");
    }
    const auto bytes = static_cast<std::int64_t>(*count * size_of(states[i].dtype));
    if (__builtin_add_overflow(total, bytes, &total)) {
      return at.fail("all states together need more than 2**63 - 1 bytes");
    }
  }
}

GoldenSpec read_golden(const JsonCursor& at) {
  at.expect_keys({"file", "calls", "relative_tolerance", "absolute_tolerance"});
  GoldenSpec golden{
      .file = at["file"].file_name(),
      .calls = {},
      .relative_tolerance = at["relative_tolerance"].nonnegative_number(),
      .absolute_tolerance = at["absolute_tolerance"].nonnegative_number(),
  };
  for (const JsonCursor& call : at["calls"].elements(Manifest::kMaxGoldenCalls)) {
    golden.calls.push_back(call.identifier());
  }
  return golden;
}

Manifest read_manifest(const JsonCursor& at) {
  check_format(at);
  if (at.ok()) {
    at.expect_keys({"format", "format_version", "versions", "program", "files", "constants",
                    "state", "methods", "golden"});
  }
  Manifest manifest;
  if (!at.ok()) return manifest;
  manifest.versions = read_versions(at["versions"]);
  manifest.program = read_program(at["program"]);
  manifest.files = read_files(at["files"]);
  manifest.constants = read_constants(at["constants"]);
  for (const JsonCursor& state : at["state"].elements(Manifest::kMaxStates)) {
    manifest.state.push_back(read_state(state));
  }
  for (const JsonCursor& method : at["methods"].elements(Manifest::kMaxMethods)) {
    manifest.methods.push_back(read_method(method, manifest.state.size()));
    if (at.ok()) check_method(method, manifest.methods.back());
  }
  if (!at["golden"].is_null()) manifest.golden = read_golden(at["golden"]);
  return manifest;
}

void expect_listed(const JsonCursor& at, const Manifest& manifest, const std::string& file) {
  if (!manifest.files.contains(file)) at.fail(in_quotes(file) + " is not one of the files");
}

// What lies in different parts of the document and must fit together.
void check_manifest(const JsonCursor& at, const Manifest& manifest) {
  if (manifest.methods.empty()) at["methods"].fail("there are none");
  expect_unique(at["methods"], manifest.methods, "name", &MethodSpec::name);
  expect_unique(at["state"], manifest.state, "name", &StateSpec::name);
  check_state_bytes(at["state"], manifest.state);
  expect_listed(at["program"]["file"], manifest, manifest.program.file);
  if (!manifest.golden) return;
  expect_listed(at["golden"]["file"], manifest, manifest.golden->file);
  if (manifest.golden->file == manifest.program.file) {
    at["golden"]["file"].fail("is the program's file");
  }
  std::set<std::string_view> methods;
  for (const MethodSpec& method : manifest.methods) methods.insert(method.name);
  for (std::size_t i = 0; i < manifest.golden->calls.size(); ++i) {
    if (methods.contains(manifest.golden->calls[i])) continue;
    at["golden"]["calls"].element(i).fail(in_quotes(manifest.golden->calls[i]) +
                                          " is not a method");
  }
}

// The index of the item called `name`; otherwise an error with the names there are.
template <typename Item>
Result<std::size_t> index_of(const std::vector<Item>& items, std::string_view name,
                             const std::string& what) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return i;
  }
  std::string names;
  for (const Item& item : items) names += (names.empty() ? "" : ", ") + item.name;
  return Error{ErrorCode::kContract, "there is no " + what + " '" + shortened(name) +
                                         "'; there are " + (names.empty() ? "none" : names)};
}

}  // namespace

Result<Manifest> Manifest::parse(std::string_view text) {
  const Result<Json> document = parse_json(text);
  if (!document) return document.error();
  Status status;
  const JsonCursor root(*document, status);
  Manifest manifest = read_manifest(root);
  if (root.ok()) check_manifest(root, manifest);
  if (!status) return status.error();
  return manifest;
}

Result<std::size_t> Manifest::method_index(std::string_view name) const {
  return index_of(methods, name, "method");
}

Result<std::size_t> Manifest::state_index(std::string_view name) const {
  return index_of(state, name, "state");
}

std::string short_input_label(const MethodSpec& method, std::size_t input) {
  return "input " + std::to_string(input) + " '" + method.inputs[input].name + "'";
}

std::string input_label(const MethodSpec& method, std::size_t input) {
  return "method '" + method.name + "', " + short_input_label(method, input);
}

std::vector<std::string> symbol_names(const MethodSpec& method) {
  std::vector<std::string> names;
  names.reserve(method.symbols.size());
  for (const Symbol& symbol : method.symbols) names.push_back(symbol.name);
  return names;
}

}  // namespace polystate
