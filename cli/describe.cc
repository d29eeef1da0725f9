#include "cli/describe.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"

namespace polystate::cli {
namespace {

std::string range_text(std::int64_t min, std::int64_t max) {
  const bool is_open = max == std::numeric_limits<std::int64_t>::max();
  return std::to_string(min) + ".." + (is_open ? "" : std::to_string(max));
}

std::string type_text(DType dtype, const std::string& sizes) {
  return std::string(name_of(dtype)) + " [" + sizes + "]";
}

// The size of dimension `dimension` of input `index`, with the ranges of the symbols that are read
// from it.
std::string size_text(const MethodSpec& method, std::size_t index, std::size_t dimension) {
  const std::string size = method.inputs[index].shape[dimension].to_string(symbol_names(method));
  for (const Symbol& symbol : method.symbols) {
    if (symbol.input != index || symbol.dimension != dimension) continue;
    if (size == symbol.name) return symbol_text(symbol);
    return size + " (" + symbol_text(symbol) + ")";
  }
  return size;
}

}  // namespace

std::string symbol_text(const Symbol& symbol) {
  return symbol.name + " " + range_text(symbol.min, symbol.max);
}

std::string input_type_text(const MethodSpec& method, std::size_t index) {
  std::string sizes;
  for (std::size_t i = 0; i < method.inputs[index].shape.size(); ++i) {
    sizes += (i == 0 ? "" : ", ") + size_text(method, index, i);
  }
  return type_text(method.inputs[index].dtype, sizes);
}

std::string output_type_text(const MethodSpec& method, std::size_t index) {
  const std::vector<std::string> symbols = symbol_names(method);
  std::string sizes;
  for (const std::optional<Expression>& size : method.outputs[index].shape) {
    sizes += sizes.empty() ? "" : ", ";
    sizes += size.has_value() ? size->to_string(symbols) : "?";
  }
  return type_text(method.outputs[index].dtype, sizes);
}

std::string value_range_text(const ValueRange& range, std::span<const std::string> symbols) {
  std::string text;
  if (range.min.has_value()) text += range.min->to_string(symbols) + " ";
  text += "..";
  if (range.max.has_value()) text += " " + range.max->to_string(symbols);
  return range.reason.empty() ? text : text + ": " + range.reason;
}

std::string update_text(const StateWrite& write) {
  const std::string how = write.update == StateUpdate::kInPlace ? "in place" : "written back";
  return write.reason.empty() ? how : how + ": " + write.reason;
}

std::string update_name(StateUpdate update) {
  return update == StateUpdate::kInPlace ? "in_place" : "written_back";
}

std::string with_source(const std::string& text, const std::string& source) {
  return source.empty() ? text : text + " (" + source + ")";
}

std::uint64_t bytes_of(const StateSpec& state) {
  std::uint64_t bytes = size_of(state.dtype);
  for (const std::int64_t size : state.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

}  // namespace polystate::cli
