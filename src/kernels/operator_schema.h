#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace polystate {

// What an operator is called with, as torch.library writes it: "polystate::layer_norm.out(Tensor x,
// Tensor weight, Tensor bias, float eps, *, Tensor(z!) out) -> Tensor(z!)". A test compares it with
// what python/polystate/ops registers.
class OperatorSchema {
 public:
  explicit constexpr OperatorSchema(std::string_view text) : text_(text) {}

  [[nodiscard]] constexpr std::string_view text() const { return text_; }

  // "polystate::layer_norm.out"
  [[nodiscard]] constexpr std::string_view name() const { return text_.substr(0, opening()); }

  // Arguments, `out` among them.
  [[nodiscard]] constexpr std::size_t argument_count() const {
    std::size_t count = 0;
    while (!type_of(count).empty()) ++count;
    return count;
  }

  // The type of an argument, without what it says of aliases: "Tensor", "Tensor?", "SymInt"; empty
  // where there is no such argument.
  [[nodiscard]] constexpr std::string_view type_of(std::size_t index) const {
    std::string_view rest = text_.substr(opening() + 1, text_.rfind(") -> ") - opening() - 1);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(", "), rest.size());
      const std::string_view argument = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 2, rest.size()));
      if (argument == "*") continue;  // the next ones are given by name
      if (index == 0) return argument.substr(0, argument.find_first_of("( "));
      --index;
    }
    return {};
  }

 private:
  [[nodiscard]] constexpr std::size_t opening() const { return text_.find('('); }

  std::string_view text_;
};

}  // namespace polystate
