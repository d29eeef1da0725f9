#include "artifact/contract_messages.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "artifact/value_scan.h"
#include "core/text.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

Error refuse(const std::string& message) { return {ErrorCode::kContract, message}; }

std::string name_of_method(const MethodSpec& method) { return "method '" + method.name + "'"; }

// "method 'decode', input 1 'position': "
std::string beginning(const MethodSpec& method, std::size_t input) {
  return input_label(method, input) + ": ";
}

std::string dimension_text(std::size_t dimension) {
  return "dimension " + std::to_string(dimension);
}

// "[batch, 20]"
std::string shape_text(const MethodSpec& method, const std::vector<Expression>& shape) {
  const std::vector<std::string> names = symbol_names(method);
  std::string text;
  for (const Expression& size : shape) text += (text.empty() ? "" : ", ") + size.to_string(names);
  return "[" + text + "]";
}

// "1..8", "1 or more"
std::string range_text(const Symbol& symbol) {
  if (symbol.max == std::numeric_limits<std::int64_t>::max()) {
    return std::to_string(symbol.min) + " or more";
  }
  return std::to_string(symbol.min) + ".." + std::to_string(symbol.max);
}

// "2 * batch + 1": the size from which a symbol is read.
std::string linear_text(const MethodSpec& method, const Symbol& symbol) {
  return method.inputs[symbol.input].shape[symbol.dimension].to_string(symbol_names(method));
}

// "batch is 3 (from dimension 0 of input 0 'x'), length is 4 (...)": the symbols in an expression;
// empty where there are none.
std::string symbols_text(const MethodSpec& method, const Expression& expression, Symbols symbols) {
  std::string text;
  for (std::size_t i = 0; i < method.symbols.size(); ++i) {
    if (!expression.refers_to(i)) continue;
    const Symbol& symbol = method.symbols[i];
    text += (text.empty() ? "" : ", ") + symbol.name + " is " + std::to_string(symbols[i]) +
            " (from " + dimension_text(symbol.dimension) + " of " +
            short_input_label(method, symbol.input) + ")";
  }
  return text;
}

// Where an element lies: " at [1, 3]"; nothing in a tensor of one element.
std::string where_text(const Tensor& tensor, std::size_t element) {
  if (tensor.element_count() == 1) return "";
  return " at " + place_text(tensor.shape(), element);
}

}  // namespace

Error wrong_count(const MethodSpec& method, std::size_t count) {
  std::string names;
  for (const InputSpec& input : method.inputs) names += (names.empty() ? "" : ", ") + input.name;
  return refuse(name_of_method(method) + " takes " + count_text(method.inputs.size(), "input") +
                (names.empty() ? "" : " (" + names + ")") + ", got " + std::to_string(count));
}

Error wrong_dtype(const MethodSpec& method, std::size_t input, const Tensor& tensor) {
  return refuse(beginning(method, input) + "the dtype is " + std::string(name_of(tensor.dtype())) +
                "; it must be " + std::string(name_of(method.inputs[input].dtype)));
}

Error wrong_rank(const MethodSpec& method, std::size_t input, const Tensor& tensor) {
  const std::vector<Expression>& shape = method.inputs[input].shape;
  return refuse(beginning(method, input) + "the shape " + to_string(tensor.shape()) + " has " +
                count_text(tensor.shape().size(), "dimension") + "; it must have " +
                std::to_string(shape.size()) + ", " + shape_text(method, shape));
}

Error not_whole(const MethodSpec& method, const Symbol& symbol, std::int64_t size) {
  return refuse(beginning(method, symbol.input) + dimension_text(symbol.dimension) + " is " +
                std::to_string(size) + "; it must be " + linear_text(method, symbol) + " with " +
                symbol.name + " a whole number");
}

Error out_of_range(const MethodSpec& method, const Symbol& symbol, std::int64_t size) {
  const std::string start = beginning(method, symbol.input) + dimension_text(symbol.dimension);
  if (symbol.scale == 1 && symbol.offset == 0) {
    return refuse(start + " '" + symbol.name + "' is " + std::to_string(size) + "; the limit is " +
                  range_text(symbol));
  }
  return refuse(start + " is " + std::to_string(size) + "; it must be " +
                linear_text(method, symbol) + " with " + symbol.name + " in " + range_text(symbol));
}

Error wrong_size(const MethodSpec& method, const Dimension& found, Symbols symbols,
                 const Result<std::int64_t>& expected) {
  const Expression& size = method.inputs[found.input].shape[found.dimension];
  std::string text = beginning(method, found.input) + dimension_text(found.dimension) + " is " +
                     std::to_string(found.size) + "; it must be ";
  if (size.is_constant()) return refuse(text + std::to_string(*expected));
  text +=
      size.to_string(symbol_names(method)) + (expected ? " = " + std::to_string(*expected) : "");
  const std::string given = symbols_text(method, size, symbols);
  if (!given.empty()) text += ", where " + given;
  return refuse(expected ? text : text + "; but " + expected.error().message);
}

Error guard_broken(const MethodSpec& method, const Guard& guard, Symbols symbols,
                   const Result<std::int64_t>& value) {
  const std::string given = symbols_text(method, guard.condition, symbols);
  const std::string text =
      with_source(name_of_method(method) + " needs " + guard.text, guard.source) + ": " +
      (given.empty() ? "it never holds" : given);
  return refuse(value ? text : text + "; " + value.error().message);
}

Error wrong_value(const MethodSpec& method, std::size_t input, const Tensor& tensor,
                  const ValueRange& range, const Outside& outside) {
  const std::int64_t value = element_at(tensor, outside.element);
  const bool low = value < outside.min;
  return refuse(beginning(method, input) + "value " + std::to_string(value) +
                where_text(tensor, outside.element) + " is " + (low ? "below " : "above ") +
                std::to_string(low ? outside.min : outside.max) + ", the " +
                (low ? "smallest" : "largest") + " that " + range.reason);
}

Error unknown_limit(const MethodSpec& method, std::size_t input, const ValueRange& range,
                    const Error& why) {
  return refuse(beginning(method, input) + "the limit on what " + range.reason +
                " cannot be computed: " + why.message);
}

Error bad_bool(const MethodSpec& method, std::size_t input) {
  return refuse(beginning(method, input) + "a bool of the tensor is neither 0 nor 1");
}

Error read_only(const MethodSpec& method, std::size_t input) {
  return refuse(beginning(method, input) + "the method writes this tensor, which is read-only");
}

Error overlapping(const MethodSpec& method, std::size_t input, std::size_t other) {
  return refuse(beginning(method, input) +
                "the method writes this tensor, which shares memory with " +
                short_input_label(method, other));
}

}  // namespace polystate
