#include "program/data_flow.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "program/program.h"

namespace polystate::program {
namespace {

using Indices = std::vector<std::size_t>;

// Operators of polystate's own that change states among their arguments, which they do not return.
constexpr std::array<std::string_view, 3> kStateWriters = {
    "polystate::paged_attention.out", "polystate::write_pages.out", "polystate::copy_pages.out"};

constexpr std::string_view kCopyIndex = "executorch_prim::et_copy_index";

// Values in the order in which they were added, each once.
class ValueSet {
 public:
  void add(std::size_t value) {
    if (members_.insert(value).second) values_.push_back(value);
  }
  [[nodiscard]] bool has(std::size_t value) const { return members_.contains(value); }
  [[nodiscard]] const Indices& values() const { return values_; }

 private:
  Indices values_;
  std::unordered_set<std::size_t> members_;
};

// Whether a kernel writes numbers, whose place is its last argument.
bool computes_numbers(std::string_view name) {
  return name.starts_with("executorch_prim::") || name.starts_with("aten::sym_") ||
         name.starts_with("aten::_local_scalar_dense");
}

class UseFinder {
 public:
  explicit UseFinder(const Method& method) : method_(method), has_value_(method.values.size()) {
    for (std::size_t i = 0; i < method.values.size(); ++i) {
      const Tensor* const tensor = tensor_of(method, i);
      has_value_[i] = tensor == nullptr || tensor->data != 0 || is_state(*tensor);
    }
    for (const std::size_t input : method.inputs) has_value_[input] = true;
  }

  Uses next(const Instruction& instruction) {
    Uses uses = find(instruction);
    for (const std::size_t written : uses.writes) has_value_[written] = true;
    return uses;
  }

 private:
  [[nodiscard]] Uses find(const Instruction& instruction) const {
    switch (instruction.kind) {
      case Instruction::Kind::kKernel:
        return of_kernel(instruction);
      case Instruction::Kind::kDelegate:
        return of_delegate(instruction);
      case Instruction::Kind::kMove:
        return {.reads = {instruction.arguments[0]}, .writes = {instruction.arguments[1]}};
      case Instruction::Kind::kJump:
        return {.reads = instruction.arguments};
      case Instruction::Kind::kFree:
        break;
    }
    return {};
  }

  // An argument, or the elements of a list.
  void add_argument(ValueSet& values, std::size_t argument) const {
    const auto* const list = std::get_if<IndexList>(&method_.values[argument]);
    if (list == nullptr) {
      values.add(argument);
      return;
    }
    for (const auto& item : list->items) {
      if (item.has_value()) values.add(*item);
    }
  }

  [[nodiscard]] Uses of_kernel(const Instruction& instruction) const {
    const std::string& name = method_.operators[instruction.target];
    ValueSet given;
    ValueSet last;
    for (std::size_t i = 0; i < instruction.arguments.size(); ++i) {
      const bool is_last = i + 1 == instruction.arguments.size();
      add_argument(is_last ? last : given, instruction.arguments[i]);
    }
    const Indices reads = without_results(instruction, given, last);
    if (std::ranges::find(kStateWriters, name) != kStateWriters.end())
      add_states(given.values(), last);
    const Indices& results = last.values();
    if (name.starts_with(kCopyIndex) && !given.values().empty())
      return {.reads = joined(given, results), .writes = {given.values().front()}};
    const bool was_given = !results.empty() && std::ranges::all_of(results, [&](std::size_t value) {
      return given.has(value) && tensor_of(method_, value) != nullptr;
    });
    if (was_given) return {.reads = reads, .writes = results};
    const bool is_new =
        std::ranges::none_of(results, [&](std::size_t value) { return has_value_[value]; });
    if (is_new || computes_numbers(name)) return {.reads = given.values(), .writes = results};
    return {.reads = joined(given, results)};
  }

  void add_states(const Indices& values, ValueSet& states) const {
    for (const std::size_t value : values) {
      const Tensor* const tensor = tensor_of(method_, value);
      if (tensor != nullptr && is_state(*tensor)) states.add(value);
    }
  }

  // The arguments without the results that are only filled: those that are changed in place are
  // read, and so are those that are among the other arguments, too.
  [[nodiscard]] Indices without_results(const Instruction& instruction, const ValueSet& given,
                                        const ValueSet& results) const {
    const std::string& name = method_.operators[instruction.target];
    const bool fills =
        name == "aten::copy_" || name.find("out", name.find('.')) != std::string::npos;
    if (!fills) return given.values();
    std::unordered_map<std::size_t, std::size_t> times;
    for (const std::size_t argument : instruction.arguments) ++times[argument];
    Indices reads;
    for (const std::size_t value : given.values()) {
      // Once as what is filled, and once as what is returned.
      constexpr std::size_t kFilled = 2;
      if (!results.has(value) || times[value] > kFilled) reads.push_back(value);
    }
    return reads;
  }

  static Indices joined(ValueSet first, const Indices& second) {
    for (const std::size_t value : second) first.add(value);
    return first.values();
  }

  [[nodiscard]] Uses of_delegate(const Instruction& instruction) const {
    ValueSet reads;
    ValueSet writes;
    for (const std::size_t argument : instruction.arguments)
      add_argument(has_value_[argument] ? reads : writes, argument);
    return {.reads = reads.values(), .writes = writes.values()};
  }

  const Method& method_;
  std::vector<bool> has_value_;
};

}  // namespace

std::vector<Uses> uses_of(const Method& method) {
  UseFinder finder(method);
  std::vector<Uses> uses;
  uses.reserve(method.instructions.size());
  for (const Instruction& instruction : method.instructions)
    uses.push_back(finder.next(instruction));
  return uses;
}

std::vector<std::size_t> state_values(const Method& method) {
  std::vector<std::size_t> states(method.values.size());
  std::map<std::uint64_t, std::size_t> by_offset;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Tensor* const tensor = tensor_of(method, i);
    const bool has_state = tensor != nullptr && is_state(*tensor);
    states[i] = has_state ? by_offset.try_emplace(offset_of(*tensor), i).first->second : i;
  }
  return states;
}

const Tensor* tensor_of(const Method& method, std::size_t value) {
  return std::get_if<Tensor>(&method.values[value]);
}

bool is_state(const Tensor& tensor) {
  return tensor.place.has_value() && tensor.place->arena == kState;
}

std::uint64_t offset_of(const Tensor& tensor) {
  return tensor.place.has_value() ? tensor.place->offset : 0;
}

bool is_constant(const Tensor& tensor) { return tensor.data != 0 && !tensor.place.has_value(); }

bool only_copies(std::string_view operator_name) {
  constexpr std::array<std::string_view, 4> kCopies = {"::clone", "::_clone", "::copy",
                                                       "::contiguous"};
  const auto contains = [&](std::string_view part) {
    return operator_name.find(part) != std::string_view::npos;
  };
  return contains("_copy.") || operator_name.ends_with("_copy") ||
         std::ranges::any_of(kCopies, contains);
}

}  // namespace polystate::program
