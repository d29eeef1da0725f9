#include "cli/describe.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "cli/text.h"
#include "core/text.h"
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
  std::string size = method.inputs[index].shape[dimension].to_string(symbol_names(method));
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
  const InputSpec& input = method.inputs[index];
  std::vector<std::string> sizes(input.shape.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = size_text(method, index, i);
  return type_text(input.dtype, joined(sizes));
}

std::string output_type_text(const MethodSpec& method, std::size_t index) {
  const std::vector<std::string> symbols = symbol_names(method);
  const OutputSpec& output = method.outputs[index];
  std::vector<std::string> sizes;
  sizes.reserve(output.shape.size());
  for (const std::optional<Expression>& size : output.shape) {
    sizes.push_back(size.has_value() ? size->to_string(symbols) : "?");
  }
  return type_text(output.dtype, joined(sizes));
}

std::string value_range_text(const ValueRange& range, std::span<const std::string> symbols) {
  std::string text;
  if (range.min.has_value()) text += range.min->to_string(symbols) + " ";
  text += "..";
  if (range.max.has_value()) text += " " + range.max->to_string(symbols);
  return range.reason.empty() ? text : text + ": " + range.reason;
}

std::string versions_text(const std::map<std::string, std::string>& versions) {
  std::vector<std::string> parts;
  parts.reserve(versions.size());
  for (const auto& [name, version] : versions) parts.push_back(joined({name, version}, " "));
  return joined(parts);
}

std::string update_text(const StateWrite& write) {
  const std::string how = write.update == StateUpdate::kInPlace ? "in place" : "written back";
  return write.reason.empty() ? how : how + ": " + write.reason;
}

std::string update_name(StateUpdate update) {
  return update == StateUpdate::kInPlace ? "in_place" : "written_back";
}

std::uint64_t bytes_of(const StateSpec& state) {
  std::uint64_t bytes = size_of(state.dtype);
  for (const std::int64_t size : state.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

std::string listed(const std::vector<std::string>& parts) {
  return parts.empty() ? "none" : joined(parts);
}

std::string constant_text(const Constant& constant) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
        if constexpr (std::is_same_v<T, std::int64_t>) return std::to_string(value);
        if constexpr (std::is_same_v<T, double>) return number_text(value);
        if constexpr (std::is_same_v<T, std::string>) return "\"" + value + "\"";
      },
      constant);
}

}  // namespace polystate::cli
