#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "artifact/method_reader.h"
#include "artifact/unique.h"
#include "core/json_cursor.h"
#include "core/text.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

using Sizes = std::vector<std::optional<Expression>>;

// scale * value + offset.
std::optional<std::int64_t> size_at(const Symbol& symbol, std::int64_t value) {
  std::int64_t size = 0;
  if (__builtin_mul_overflow(symbol.scale, value, &size)) return std::nullopt;
  if (__builtin_add_overflow(size, symbol.offset, &size)) return std::nullopt;
  return size;
}

std::string linear_text(const Symbol& symbol) {
  std::string text = symbol.scale == 1 ? "" : std::to_string(symbol.scale) + " * ";
  text += symbol.name;
  if (symbol.offset > 0) text += " + " + std::to_string(symbol.offset);
  if (symbol.offset < 0) text += " - " + std::to_string(symbol.offset).substr(1);
  return text;
}

// Whether `size` is scale * symbol + offset wherever in the symbol's range that is tried: both
// ends, and one above the lower.
bool agrees(const Expression& size, const MethodSpec& method, std::size_t index) {
  for (std::size_t i = 0; i < method.symbols.size(); ++i) {
    if (size.refers_to(i) != (i == index)) return false;
  }
  const Symbol& symbol = method.symbols[index];
  std::vector<std::int64_t> values(method.symbols.size());
  const std::array<std::int64_t, 3> samples = {
      symbol.min, symbol.min + (symbol.min < symbol.max ? 1 : 0), symbol.max};
  for (const std::int64_t sample : samples) {
    values[index] = sample;
    const Result<std::int64_t> found = size.evaluate(values);
    const std::optional<std::int64_t> expected = size_at(symbol, sample);
    const bool same = found && expected ? *found == *expected : !found && !expected;
    if (!same) return false;
  }
  return true;
}

// A symbol's value is read from one dimension, so that dimension must be scale * symbol + offset.
void check_symbol(const JsonCursor& at, const MethodSpec& method, std::size_t index) {
  const Symbol& symbol = method.symbols[index];
  const InputSpec& input = method.inputs[symbol.input];
  if (symbol.dimension >= input.shape.size()) {
    return at["dimension"].fail("is " + std::to_string(symbol.dimension) + "; input " +
                                in_quotes(input.name) + " has rank " +
                                std::to_string(input.shape.size()));
  }
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  if (symbol.max != kUnlimited && !size_at(symbol, symbol.max)) {
    return at.fail("the largest size, " + linear_text(symbol) + " with " + symbol.name + " = " +
                   std::to_string(symbol.max) + ", does not fit 64 bits");
  }
  const Expression& size = input.shape[symbol.dimension];
  if (agrees(size, method, index)) return;
  at.fail("dimension " + std::to_string(symbol.dimension) + " of input " + in_quotes(input.name) +
          " is " + size.to_string(symbol_names(method)) + "; for this symbol it must be " +
          linear_text(symbol));
}

// A tensor of constant sizes must have a number of bytes.
void check_bytes(const JsonCursor& at, DType dtype, const Sizes& sizes) {
  Shape shape;
  for (const std::optional<Expression>& size : sizes) {
    if (!size || !size->is_constant()) return;
    shape.push_back(size->steps()[0].operand);
  }
  if (!element_count(dtype, shape)) at.fail(to_string(shape) + " needs more than 2**63 - 1 bytes");
}

// The program's outputs begin with the mutated inputs, each once.
void check_written_inputs(const JsonCursor& inputs, const MethodSpec& method) {
  std::size_t count = 0;
  for (const InputSpec& input : method.inputs) count += input.written_from ? 1 : 0;
  std::map<std::size_t, std::size_t> inputs_of;  // program output -> input
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const std::optional<std::size_t>& written_from = method.inputs[i].written_from;
    if (!written_from) continue;
    const std::size_t output = *written_from;
    const JsonCursor at = inputs.element(i)["written_from"];
    if (output >= count) {
      return at.fail("is " + std::to_string(output) +
                     "; the program's outputs begin with the mutated inputs, so it must be below " +
                     std::to_string(count) + ", their number");
    }
    const auto [other, is_new] = inputs_of.emplace(output, i);
    if (!is_new) {
      return at.fail("is " + std::to_string(output) + ", as that of input " +
                     in_quotes(method.inputs[other->second].name));
    }
  }
}

// What a manifest says of one of the program's outputs.
struct ProgramOutput {
  std::string described_by;  // "input "x"", "output "0""
  DType dtype;
  Sizes shape;
};

bool contradict(const ProgramOutput& a, const ProgramOutput& b,
                const std::vector<std::string>& symbols) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return true;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const std::optional<Expression>& left = a.shape[i];
    const std::optional<Expression>& right = b.shape[i];
    if (left && right && left->to_string(symbols) != right->to_string(symbols)) return true;
  }
  return false;
}

// Several outputs and mutated inputs may come from one of the program's outputs, if they agree on
// what it is.
void check_outputs(const JsonCursor& outputs, const MethodSpec& method) {
  const std::vector<std::string> symbols = symbol_names(method);
  std::map<std::size_t, ProgramOutput> known;
  for (const InputSpec& input : method.inputs) {
    if (!input.written_from) continue;
    known.emplace(*input.written_from,
                  ProgramOutput{"input " + in_quotes(input.name), input.dtype,
                                Sizes(input.shape.begin(), input.shape.end())});
  }
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const OutputSpec& output = method.outputs[i];
    const ProgramOutput described{"output " + in_quotes(output.name), output.dtype, output.shape};
    const auto [other, is_new] = known.emplace(output.program_output, described);
    if (!is_new && contradict(other->second, described, symbols)) {
      return outputs.element(i).fail("dtype or shape differ from those of " +
                                     other->second.described_by +
                                     ", which has the same program_output");
    }
  }
}

}  // namespace

void check_method(const JsonCursor& at, const MethodSpec& method) {
  expect_unique(at["symbols"], method.symbols, "name", &Symbol::name);
  expect_unique(at["inputs"], method.inputs, "name", &InputSpec::name);
  expect_unique(at["outputs"], method.outputs, "name", &OutputSpec::name);
  expect_unique(at["checks"], method.checks, "id", &Check::id);
  expect_unique(at["writes"], method.writes, "state", &StateWrite::state);
  expect_unique(at["reads"], method.reads, "state", [](std::size_t state) { return state; });
  for (std::size_t i = 0; i < method.symbols.size() && at.ok(); ++i) {
    check_symbol(at["symbols"].element(i), method, i);
  }
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const InputSpec& input = method.inputs[i];
    check_bytes(at["inputs"].element(i)["shape"], input.dtype,
                Sizes(input.shape.begin(), input.shape.end()));
  }
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    check_bytes(at["outputs"].element(i)["shape"], method.outputs[i].dtype,
                method.outputs[i].shape);
  }
  check_written_inputs(at["inputs"], method);
  check_outputs(at["outputs"], method);
}

}  // namespace polystate
