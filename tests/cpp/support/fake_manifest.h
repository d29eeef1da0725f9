#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/shape.h"

namespace polystate {

// The manifest of a fake model as plain data: what a test does not say has a default, so that only
// fake_manifest.cc knows every key that a manifest must have.
//
//   const FakeManifest manifest = {
//       .methods = {{.name = "add",
//                    .symbols = {{.name = "rows", .max = 4}},
//                    .inputs = {{.name = "x", .dtype = "float32", .shape = {"rows"}}}}}};
//   files.files["manifest.json"] = manifest.text();
struct FakeManifest {
  // Of a dimension: a number, or a symbol's name.
  using Size = std::variant<std::int64_t, std::string>;

  // The size of a dimension of an input.
  struct Symbol {
    std::string name;
    std::size_t input = 0;
    std::size_t dimension = 0;
    std::int64_t min = 1;
    std::int64_t max = 1;
  };
  struct Input {
    std::string name;
    std::string dtype = "int64";
    std::vector<Size> shape = {};
    std::optional<std::size_t> written_from = std::nullopt;  // of the program's outputs
  };
  struct Output {
    std::string name;
    std::string dtype = "float32";
    std::vector<Size> shape = {};
  };
  struct Method {
    std::string name;
    std::vector<Symbol> symbols = {};
    std::vector<Input> inputs = {};
    std::vector<Output> outputs = {};  // the program's, in their order
    std::vector<std::size_t> reads = {};
    std::vector<std::size_t> writes = {};  // in place
    bool atomic = false;
  };
  struct State {
    std::string name;
    std::string dtype = "float32";
    Shape shape = {};
    bool zeros = true;  // at first
    std::string preview = "0";
  };

  std::map<std::string, std::uint64_t> files = {{"model.pte", 1}};  // their bytes
  std::map<std::string, Constant> constants = {};
  std::vector<State> states = {};
  std::vector<Method> methods = {};

  // The text of manifest.json.
  [[nodiscard]] std::string text() const;
};

}  // namespace polystate
