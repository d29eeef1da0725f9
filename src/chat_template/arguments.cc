#include "chat_template/arguments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

const Value* Arguments::find(std::string_view name) const {
  const auto found = std::ranges::find(
      named, name, [](const auto& pair) -> std::string_view { return pair.first; });
  return found == named.end() ? nullptr : &found->second;
}

Parameters::Parameters(Rendering& rendering, std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, std::size_t required)
    : rendering_(rendering), function_(function), values_(names.size()) {
  bind(arguments, names);
  for (std::size_t i = 0; valid_ && i < required; ++i) {
    if (values_[i]) continue;
    rendering_.fail(std::string(function) + "() lacks its argument " + quoted(std::data(names)[i]));
    valid_ = false;
  }
  valid_ = valid_ && !rendering.failed();
}

void Parameters::bind(const Arguments& arguments, std::initializer_list<std::string_view> names) {
  const auto refuse = [this](const std::string& why) {
    rendering_.fail(std::string(function_) + "() " + why);
    valid_ = false;
  };
  if (arguments.positional.size() > names.size()) {
    return refuse("takes at most " + std::to_string(names.size()) + " arguments, not " +
                  std::to_string(arguments.positional.size()));
  }
  std::ranges::transform(arguments.positional, values_.begin(),
                         [](const Value& value) { return &value; });
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(names, std::string_view(name));
    const auto i = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) return refuse("takes no argument " + quoted(name));
    if (values_[i]) return refuse("has its argument " + quoted(name) + " twice");
    values_[i] = &value;
  }
}

std::int64_t Parameters::integer(std::size_t i, std::int64_t otherwise) const {
  return has(i) ? index_of(rendering_, *values_[i]) : otherwise;
}

std::optional<std::int64_t> Parameters::optional_integer(std::size_t i) const {
  if (!has(i) || values_[i]->is_none()) return std::nullopt;
  return index_of(rendering_, *values_[i]);
}

bool Parameters::truth(std::size_t i, bool otherwise) const {
  return has(i) ? values_[i]->is_true() : otherwise;
}

Text Parameters::text(std::size_t i, std::string_view otherwise) const {
  if (!has(i)) return {std::string(otherwise), Origin::kTemplate};
  if (values_[i]->is_string()) {
    const Text& text = values_[i]->text();
    return rendering_.may_read_text(text.memory()) ? text : Text();
  }
  rendering_.fail(std::string(function_) + "() takes a str, not a " + values_[i]->type_name());
  return {};
}

std::int64_t index_of(Rendering& rendering, const Value& value) {
  if (value.is_integer()) return value.as_integer();
  if (value.is_undefined()) {
    rendering.fail(value.undefined_message());
  } else {
    rendering.fail("'" + value.type_name() + "' object cannot be interpreted as an integer");
  }
  return 0;
}

}  // namespace polystate::chat_template
