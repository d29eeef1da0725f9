#include "support/fake_manifest.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "polystate/artifact/manifest.h"

namespace polystate {
namespace {

using nlohmann::json;

json to_json(const FakeManifest::Size& size) {
  return std::visit([](const auto& value) { return json(value); }, size);
}

json to_json(const FakeManifest::Symbol& symbol) {
  return {{"name", symbol.name}, {"input", symbol.input}, {"dimension", symbol.dimension},
          {"min", symbol.min},   {"max", symbol.max},     {"scale", 1},
          {"offset", 0}};
}

json to_json(const FakeManifest::Input& input);
json to_json(const FakeManifest::Method& method);
json to_json(const FakeManifest::State& state);

// An array of what to_json makes of each item.
template <typename Item>
json all_of(const std::vector<Item>& items) {
  json array = json::array();
  for (const Item& item : items) array.push_back(to_json(item));
  return array;
}

json to_json(const FakeManifest::Input& input) {
  return {{"name", input.name},
          {"dtype", input.dtype},
          {"shape", all_of(input.shape)},
          {"values", json::array()},
          {"written_from", input.written_from ? json(*input.written_from) : json(nullptr)}};
}

json outputs(const FakeManifest::Method& method) {
  json array = json::array();
  for (const FakeManifest::Output& output : method.outputs) {
    array.push_back({{"name", output.name},
                     {"dtype", output.dtype},
                     {"shape", all_of(output.shape)},
                     {"program_output", array.size()}});
  }
  return array;
}

json writes(const FakeManifest::Method& method) {
  json array = json::array();
  for (const std::size_t state : method.writes) {
    array.push_back({{"state", state}, {"update", "in_place"}, {"reason", "a test"}});
  }
  return array;
}

json to_json(const FakeManifest::Method& method) {
  return {{"name", method.name},
          {"symbols", all_of(method.symbols)},
          {"inputs", all_of(method.inputs)},
          {"outputs", outputs(method)},
          {"guards", json::array()},
          {"checks", json::array()},
          {"reads", method.reads},
          {"writes", writes(method)},
          {"atomic", method.atomic},
          {"checks_first", true},
          {"activation_bytes", 0}};
}

json to_json(const FakeManifest::State& state) {
  return {{"name", state.name},
          {"dtype", state.dtype},
          {"shape", state.shape},
          {"initial", state.zeros ? "zeros" : "stored"},
          {"preview", state.preview}};
}

json constants_of(const FakeManifest& manifest) {
  json object = json::object();
  for (const auto& [name, constant] : manifest.constants) {
    object[name] = std::visit([](const auto& value) { return json(value); }, constant);
  }
  return object;
}

}  // namespace

std::string FakeManifest::text() const {
  const json document = {{"format", "polystate"},
                         {"format_version", Manifest::kFormatVersion},
                         {"versions", json::object()},
                         {"program",
                          {{"engine", "executorch"},
                           {"file", "model.pte"},
                           {"backend", "portable"},
                           {"quantization", nullptr},
                           {"operators", json::array()},
                           {"delegates", json::array()}}},
                         {"files", files},
                         {"constants", constants_of(*this)},
                         {"state", all_of(states)},
                         {"methods", all_of(methods)},
                         {"golden", nullptr}};
  return document.dump();
}

}  // namespace polystate
