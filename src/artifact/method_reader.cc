#include "artifact/method_reader.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "artifact/expression_reader.h"
#include "core/json_cursor.h"
#include "core/text.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

using Names = std::span<const std::string>;

Symbol read_symbol(const JsonCursor& at, std::size_t input_count) {
  at.expect_keys({"name", "input", "dimension", "min", "max", "scale", "offset"});
  Symbol symbol{
      .name = at["name"].identifier(),
      .input = at["input"].index(input_count, "inputs"),
      .dimension = static_cast<std::size_t>(at["dimension"].integer(0, Manifest::kMaxRank - 1)),
      .min = at["min"].integer(0),
      .max = at["max"].integer(0),
      .scale = at["scale"].integer(1),
      .offset = at["offset"].integer(),
  };
  if (symbol.min > symbol.max) {
    at.fail("min " + std::to_string(symbol.min) + " is above max " + std::to_string(symbol.max));
  }
  return symbol;
}

Expression read_size(const JsonCursor& at, Names symbols) {
  Expression size = read_expression(at, symbols);
  if (size.is_constant() && size.steps()[0].operand < 0) {
    at.fail("is " + std::to_string(size.steps()[0].operand) + "; a size is not negative");
  }
  return size;
}

std::optional<Expression> read_limit(const JsonCursor& at, Names symbols) {
  if (at.is_null()) return std::nullopt;
  return read_expression(at, symbols);
}

ValueRange read_value_range(const JsonCursor& at, Names symbols) {
  at.expect_keys({"min", "max", "reason"});
  ValueRange range{
      .min = read_limit(at["min"], symbols),
      .max = read_limit(at["max"], symbols),
      .reason = at["reason"].nonempty_text(),
  };
  if (!range.min && !range.max) at.fail("min and max are both null");
  if (range.min && range.max && range.min->is_constant() && range.max->is_constant()) {
    const std::int64_t min = range.min->steps()[0].operand;
    const std::int64_t max = range.max->steps()[0].operand;
    if (min > max) at.fail("min " + std::to_string(min) + " is above max " + std::to_string(max));
  }
  return range;
}

InputSpec read_input(const JsonCursor& at, Names symbols) {
  at.expect_keys({"name", "dtype", "shape", "values", "written_from"});
  InputSpec input{
      .name = at["name"].dotted_name(),
      .dtype = read_dtype(at["dtype"]),
      .shape = {},
      .values = {},
      .written_from = std::nullopt,
  };
  for (const JsonCursor& size : at["shape"].elements(Manifest::kMaxRank)) {
    input.shape.push_back(read_size(size, symbols));
  }
  const std::vector<JsonCursor> ranges = at["values"].elements(Manifest::kMaxValueRanges);
  if (!ranges.empty() && !is_integer(input.dtype)) {
    at["values"].fail("only the elements of integer inputs have limits; this one is " +
                      std::string(name_of(input.dtype)));
  }
  for (const JsonCursor& range : ranges) input.values.push_back(read_value_range(range, symbols));
  if (!at["written_from"].is_null()) {
    input.written_from =
        static_cast<std::size_t>(at["written_from"].integer(0, Manifest::kMaxOutputs - 1));
  }
  return input;
}

OutputSpec read_output(const JsonCursor& at, Names symbols) {
  at.expect_keys({"name", "dtype", "shape", "program_output"});
  OutputSpec output{
      .name = at["name"].dotted_name(),
      .dtype = read_dtype(at["dtype"]),
      .shape = {},
      .program_output =
          static_cast<std::size_t>(at["program_output"].integer(0, Manifest::kMaxOutputs - 1)),
  };
  for (const JsonCursor& size : at["shape"].elements(Manifest::kMaxRank)) {
    if (size.is_null()) {
      output.shape.emplace_back(std::nullopt);
    } else {
      output.shape.emplace_back(read_size(size, symbols));
    }
  }
  return output;
}

Guard read_guard(const JsonCursor& at, Names symbols) {
  at.expect_keys({"condition", "text", "source"});
  return {
      .condition = read_expression(at["condition"], symbols),
      .text = at["text"].nonempty_text(),
      .source = at["source"].text(),
  };
}

Check read_check(const JsonCursor& at) {
  at.expect_keys({"id", "text", "source"});
  return {
      .id = at["id"].integer(0),
      .text = at["text"].nonempty_text(),
      .source = at["source"].text(),
  };
}

StateWrite read_state_write(const JsonCursor& at, std::size_t state_count) {
  at.expect_keys({"state", "update", "reason"});
  const std::string update = at["update"].text();
  if (update != "in_place" && update != "written_back") {
    at["update"].fail(in_quotes(update) + " is neither \"in_place\" nor \"written_back\"");
  }
  return {
      .state = at["state"].index(state_count, "states"),
      .update = update == "in_place" ? StateUpdate::kInPlace : StateUpdate::kWrittenBack,
      .reason = at["reason"].text(),
  };
}

}  // namespace

DType read_dtype(const JsonCursor& at) {
  const std::string name = at.text();
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) at.fail(in_quotes(name) + " is not a dtype");
  return dtype.value_or(DType::kFloat32);
}

MethodSpec read_method(const JsonCursor& at, std::size_t state_count) {
  at.expect_keys({"name", "symbols", "inputs", "outputs", "guards", "checks", "reads", "writes",
                  "atomic", "checks_first", "activation_bytes"});
  MethodSpec method;
  method.name = at["name"].identifier();
  const std::vector<JsonCursor> inputs = at["inputs"].elements(Manifest::kMaxInputs);
  std::vector<std::string> names;
  for (const JsonCursor& symbol : at["symbols"].elements(Manifest::kMaxSymbols)) {
    method.symbols.push_back(read_symbol(symbol, inputs.size()));
    names.push_back(method.symbols.back().name);
  }
  for (const JsonCursor& input : inputs) method.inputs.push_back(read_input(input, names));
  for (const JsonCursor& output : at["outputs"].elements(Manifest::kMaxOutputs)) {
    method.outputs.push_back(read_output(output, names));
  }
  for (const JsonCursor& guard : at["guards"].elements(Manifest::kMaxGuards)) {
    method.guards.push_back(read_guard(guard, names));
  }
  for (const JsonCursor& check : at["checks"].elements(Manifest::kMaxChecks)) {
    method.checks.push_back(read_check(check));
  }
  for (const JsonCursor& state : at["reads"].elements(Manifest::kMaxStates)) {
    method.reads.push_back(state.index(state_count, "states"));
  }
  for (const JsonCursor& write : at["writes"].elements(Manifest::kMaxStates)) {
    method.writes.push_back(read_state_write(write, state_count));
  }
  method.atomic = at["atomic"].boolean();
  method.checks_first = at["checks_first"].boolean();
  method.activation_bytes = static_cast<std::uint64_t>(at["activation_bytes"].integer(0));
  return method;
}

}  // namespace polystate
