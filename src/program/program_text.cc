#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/text.h"
#include "polystate/core/result.h"
#include "program/program.h"

namespace polystate::program {
namespace {

// What is shown of a text or a list, about: some have a million elements.
constexpr std::size_t kLongestText = 1024;

template <typename Items, typename Text>
std::string listed(const Items& items, const Text& text) {
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (out.size() > kLongestText) return out + ", ...]";
    out += (i == 0 ? "" : ", ") + text(items[i]);
  }
  return out + "]";
}

class ValueText {
 public:
  explicit ValueText(const Method& method) : method_(method) {}

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const {
    return "\"" + value.substr(0, kLongestText) + (value.size() > kLongestText ? "...\"" : "\"");
  }
  std::string operator()(const Tensor& tensor) const {
    return tensor.name.empty() ? type_text(tensor) : tensor.name + ": " + type_text(tensor);
  }
  std::string operator()(const IndexList& list) const {
    return listed(list.items, [&](const auto& item) { return element_text(item); });
  }
  std::string operator()(const NumberList& list) const {
    return listed(list.items, [](double item) { return number_text(item); });
  }
  std::string operator()(const BoolList& list) const {
    return listed(list.items, [](bool item) { return std::string(item ? "true" : "false"); });
  }

 private:
  // A list in a list, which no program has, is not shown: it may hold itself.
  [[nodiscard]] std::string element_text(const std::optional<std::size_t>& item) const {
    if (!item.has_value()) return "none";
    const Value& value = method_.values[*item];
    return std::holds_alternative<IndexList>(value) ? "[...]" : std::visit(*this, value);
  }

  const Method& method_;
};

}  // namespace

std::string type_text(const Tensor& tensor) {
  const std::string bound = tensor.is_dynamic ? "up to " : "";
  return tensor.dtype + " " + bound +
         listed(tensor.sizes, [](std::int64_t size) { return std::to_string(size); });
}

std::string value_text(const Method& method, std::size_t value) {
  return std::visit(ValueText(method), method.values[value]);
}

std::string name_of(const Method& method, const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
      return method.operators[instruction.target];
    case Instruction::Kind::kDelegate:
      return method.delegates[instruction.target].backend;
    case Instruction::Kind::kMove:
      return "move";
    case Instruction::Kind::kJump:
      return "jump to " + std::to_string(instruction.target) + " if false";
    case Instruction::Kind::kFree:
      return "free";
  }
  return {};
}

Result<std::size_t> find_method(const Program& program, std::string_view name) {
  const auto found = std::ranges::find(program.methods, name, &Method::name);
  if (found != program.methods.end())
    return static_cast<std::size_t>(found - program.methods.begin());
  std::string names;
  for (const Method& method : program.methods) names += (names.empty() ? "" : ", ") + method.name;
  return Error{ErrorCode::kContract,
               "the program has no method " + in_quotes(name) + "; it has " + shortened(names)};
}

}  // namespace polystate::program
