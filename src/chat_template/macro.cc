#include "chat_template/macro.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/scope.h"
#include "chat_template/statements.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

// Takes an argument out of those that are named; leaves `value` as it is where it is not given.
void take(Arguments& arguments, std::string_view name, Value& value) {
  const auto found = std::ranges::find_if(
      arguments.named, [&](const auto& argument) { return argument.first == name; });
  if (found == arguments.named.end()) return;
  value = std::move(found->second);
  arguments.named.erase(found);
}

}  // namespace

std::optional<Value> Macro::attribute(Rendering& /*rendering*/, std::string_view name) {
  if (name == "name") return body_.name.empty() ? Value() : Value::string(body_.name);
  if (name == "arguments") {
    Elements names;
    for (const auto& parameter : body_.parameters) names.push_back(Value::string(parameter.name));
    return Value::tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value::boolean(body_.takes_named);
  if (name == "catch_varargs") return Value::boolean(body_.takes_positional);
  if (name == "caller") return Value::boolean(body_.takes_caller);
  return std::nullopt;
}

Value Macro::call(Rendering& rendering, const Arguments& arguments) {
  const auto frame = std::make_shared<Frame>(*body_.scope, frame_);
  if (!bind(rendering, arguments, *frame)) return {};
  frame->start(rendering);
  for (const MacroBody::Parameter& parameter : body_.parameters) {
    Value& value = frame->at(body_.scope->find(parameter.name));
    if (!value.is_missing()) continue;
    if (parameter.otherwise) {
      Value otherwise = parameter.otherwise->value(rendering, *frame);
      frame->at(body_.scope->find(parameter.name)) = std::move(otherwise);
    } else {
      value = Value::undefined("parameter " + quoted(parameter.name) + " was not provided");
    }
  }
  Text text = rendering.capture([&] { body_.body.run(rendering, frame); });
  frame->clear();
  if (rendering.failed() || !rendering.may_make_text(text.size())) return {};
  return Value::string(std::move(text));
}

// Gives the parameters their arguments; the others stay missing.
bool Macro::bind(Rendering& rendering, const Arguments& arguments, Frame& frame) const {
  Arguments rest = arguments;
  const std::size_t count = body_.parameters.size();
  bool found_caller = false;
  if (!rendering.spend(count * rest.named.size() / kNamesInStep)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = body_.parameters[i].name;
    const bool positional = i < arguments.positional.size();
    if (name == "caller" && (!positional || arguments.positional.size() >= count))
      found_caller = true;
    Value& place = frame.at(body_.scope->find(name));
    if (positional) {
      place = arguments.positional[i];
    } else {
      take(rest, name, place);
    }
  }
  const auto used = static_cast<std::ptrdiff_t>(std::min(count, rest.positional.size()));
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + used);
  return bind_special(rendering, std::move(rest), found_caller, frame);
}

// Gives `caller`, `kwargs` and `varargs` what is left of the arguments.
bool Macro::bind_special(Rendering& rendering, Arguments rest, bool found_caller,
                         Frame& frame) const {
  const Scope& scope = *body_.scope;
  if (body_.takes_caller && !found_caller) {
    Value caller;
    take(rest, "caller", caller);
    frame.at(scope.find("caller")) =
        caller.is_none() ? Value::undefined("No caller defined") : caller;
  }
  if (body_.takes_named) {
    Dict named;
    for (auto& [name, value] : rest.named) named.set(Value::string(name), std::move(value));
    frame.at(scope.find("kwargs")) = rendering.checked(Value::dict(std::move(named)));
  } else if (!rest.named.empty()) {
    rendering.fail("macro " + quoted(body_.name) + " takes no keyword argument " +
                   quoted(rest.named[0].first));
  }
  if (body_.takes_positional) {
    frame.at(scope.find("varargs")) = rendering.checked(Value::tuple(std::move(rest.positional)));
  } else if (!rest.positional.empty()) {
    rendering.fail("macro " + quoted(body_.name) + " takes not more than " +
                   std::to_string(body_.parameters.size()) + " argument(s)");
  }
  return !rendering.failed();
}

bool Macro::write(Rendering& /*rendering*/, TextBuilder& builder) {
  const std::string name = body_.name.empty() ? "anonymous" : quoted(body_.name);
  builder.append("<Macro " + name + ">", Origin::kTemplate);
  return true;
}

}  // namespace polystate::chat_template
