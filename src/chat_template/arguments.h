#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// How many names are compared in a step.
constexpr std::size_t kNamesInStep = 16;

// What a function is called with.
struct Arguments {
  Elements positional;
  std::vector<std::pair<std::string, Value>> named;

  [[nodiscard]] const Value* find(std::string_view name) const;
};

// The arguments of a function of ours by its parameters; it refers to them. Fails where Python
// would refuse the call.
class Parameters {
 public:
  // The first `required` of `names` must be given. Names that begin with '/' are positional only.
  Parameters(Rendering& rendering, std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required);

  // Whether the call is well-formed.
  explicit operator bool() const { return valid_; }

  [[nodiscard]] bool has(std::size_t i) const { return values_[i] != nullptr; }
  // The argument; none where it is not given.
  [[nodiscard]] Value operator[](std::size_t i) const { return has(i) ? *values_[i] : Value(); }

  // The argument as one of these, `otherwise` where it is not given. They fail for others.
  [[nodiscard]] std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
  [[nodiscard]] bool truth(std::size_t i, bool otherwise) const;
  [[nodiscard]] Text text(std::size_t i, std::string_view otherwise) const;
  // The same; none where it is not given, or none.
  [[nodiscard]] std::optional<std::int64_t> optional_integer(std::size_t i) const;

 private:
  void bind(const Arguments& arguments, std::initializer_list<std::string_view> names);

  Rendering& rendering_;
  std::string_view function_;
  std::vector<const Value*> values_;  // of the arguments; nullptr: not given
  bool valid_ = true;
};

// An integer as Python's __index__ gives it. Fails for others.
std::int64_t index_of(Rendering& rendering, const Value& value);

}  // namespace polystate::chat_template
