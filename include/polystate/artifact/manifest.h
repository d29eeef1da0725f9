#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/artifact/expression.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

// A dynamic size. Its value is read from one input: (size of `dimension` of `input` - offset) /
// scale, which must be whole and within min..max. That dimension's own expression says the same.
struct Symbol {
  std::string name;  // the user's Dim name where there is one
  std::size_t input;
  std::size_t dimension;
  std::int64_t min;
  std::int64_t max;
  std::int64_t scale = 1;
  std::int64_t offset = 0;
};

// Limits on the elements of an integer input, both inclusive.
struct ValueRange {
  std::optional<Expression> min;
  std::optional<Expression> max;
  std::string reason;  // for messages, where it follows "the largest that": "indexes dimension 1 of
                       // 'cache'"
};

struct InputSpec {
  std::string name;
  DType dtype;
  std::vector<Expression> shape;
  std::vector<ValueRange> values;  // all must hold
  // The program output that is copied into the caller's tensor after the call. The n inputs that a
  // method mutates have 0..n-1.
  std::optional<std::size_t> written_from;
};

struct OutputSpec {
  std::string name;
  DType dtype;
  std::vector<std::optional<Expression>> shape;  // empty where only the run decides
  std::size_t program_output;                    // index among the program's outputs
};

// A condition on sizes that the trace relied on.
struct Guard {
  Expression condition;
  std::string text;    // "batch % 2 == 0"
  std::string source;  // "model.py:12 in step", empty where unknown
};

// A condition on values that is checked inside the program by an operator which carries `id`.
struct Check {
  std::int64_t id;
  std::string text;
  std::string source;
};

enum class StateUpdate : std::uint8_t { kInPlace, kWrittenBack };

struct StateWrite {
  std::size_t state;  // index into Manifest::state
  StateUpdate update;
  std::string reason;
};

struct MethodSpec {
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<Guard> guards;
  std::vector<Check> checks;
  std::vector<std::size_t> reads;  // states
  std::vector<StateWrite> writes;
  bool atomic = true;        // a failed call leaves the state as it was
  bool checks_first = true;  // a failed check does
  std::uint64_t activation_bytes = 0;
};

struct StateSpec {
  std::string name;  // fully qualified: "decoder.layers.0.keys"
  DType dtype;
  std::vector<std::int64_t> shape;
  bool zeros;           // starts as zeros; otherwise the program holds the initial values
  std::string preview;  // the first initial values, for people
};

struct ProgramSpec {
  std::string engine;  // "executorch", "aoti"
  std::string file;
  std::string backend;
  std::string quantization;  // empty: none
  std::vector<std::string> operators;
  std::vector<std::string> delegates;
};

struct GoldenSpec {
  std::string file;
  std::vector<std::string>
      calls;  // method names; the calls run in this order from the initial state
  double relative_tolerance = 0;
  double absolute_tolerance = 0;  // as a part of a tensor's largest magnitude
};

using Constant = std::variant<bool, std::int64_t, double, std::string>;

// What an artifact says of itself; docs/artifact.md describes the format. Immutable after parse.
struct Manifest {
  static constexpr std::int64_t kFormatVersion = 1;

  // The most that is read; a document with more is refused.
  static constexpr std::size_t kMaxRank = 16;  // ExecuTorch's own limit
  static constexpr std::size_t kMaxMethods = 1024;
  static constexpr std::size_t kMaxStates = 65536;
  static constexpr std::size_t kMaxFiles = 1024;
  static constexpr std::size_t kMaxVersions = 256;
  static constexpr std::size_t kMaxConstants = 4096;
  static constexpr std::size_t kMaxOperators = 4096;
  static constexpr std::size_t kMaxGoldenCalls = 4096;
  // In one method.
  static constexpr std::size_t kMaxSymbols = 64;
  static constexpr std::size_t kMaxInputs = 1024;
  static constexpr std::size_t kMaxOutputs = 1024;
  static constexpr std::size_t kMaxGuards = 4096;
  static constexpr std::size_t kMaxChecks = 4096;
  static constexpr std::size_t kMaxValueRanges = 64;  // of one input

  std::int64_t format_version = kFormatVersion;
  std::map<std::string, std::string> versions;  // producer's: polystate, torch, executorch
  ProgramSpec program;
  std::map<std::string, std::uint64_t>
      files;  // sizes in bytes of every file but manifest.json and SHA256SUMS
  std::map<std::string, Constant> constants;
  std::vector<StateSpec> state;
  std::vector<MethodSpec> methods;
  std::optional<GoldenSpec> golden;

  // Parses the text and checks everything that can be checked without the program: keys, types,
  // ranges, names, references, sizes that overflow. kArtifact with the JSON path of the first thing
  // that is wrong; kUnsupported for a newer version.
  static Result<Manifest> parse(std::string_view json);

  // The index of a method; kContract with the names there are.
  [[nodiscard]] Result<std::size_t> method_index(std::string_view name) const;
  [[nodiscard]] Result<std::size_t> state_index(std::string_view name) const;
};

// How messages call an input: "method 'decode', input 1 'position'", and where the method is known
// "input 1 'position'".
std::string input_label(const MethodSpec& method, std::size_t input);
std::string short_input_label(const MethodSpec& method, std::size_t input);

// The names of a method's symbols, in order: what Expression::to_string takes.
std::vector<std::string> symbol_names(const MethodSpec& method);

}  // namespace polystate
