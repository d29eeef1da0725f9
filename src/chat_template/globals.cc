#include "chat_template/globals.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/date_text.h"
#include "chat_template/function.h"
#include "chat_template/methods.h"
#include "chat_template/namespace.h"
#include "chat_template/object.h"
#include "chat_template/python_text.h"
#include "chat_template/range.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

Value make_range(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "range", arguments, {"/start", "/stop", "/step"}, 1);
  if (!given) return {};
  const bool one = !given.has(1);
  const std::int64_t start = one ? 0 : given.integer(0, 0);
  const std::int64_t stop = given.integer(one ? 0 : 1, 0);
  const std::int64_t step = given.integer(2, 1);
  if (rendering.failed()) return {};
  if (step == 0) return rendering.fail("range() arg 3 must not be zero");
  auto range = std::make_shared<Range>(start, stop, step);
  if (range->count() > Range::kMaxCount) {
    return rendering.fail("Range too big: " + std::to_string(range->count()) +
                          " values; the sandbox allows " + std::to_string(Range::kMaxCount));
  }
  return Value::object(std::move(range));
}

// Adds the pairs that an iterable gives, as dict() does.
void add_pairs(Rendering& rendering, const Value& pairs, Dict& dict) {
  for_each_value(rendering, pairs, [&](const Value& pair) {
    const Elements two = elements_of(rendering, pair);
    if (two.size() != 2) {
      rendering.fail("dictionary update sequence element has length " + std::to_string(two.size()) +
                     "; 2 is required");
    } else if (!rendering.is_key(two[0])) {
      rendering.fail("unhashable type: '" + two[0].type_name() + "'");
    } else {
      dict.set(two[0], two[1]);
    }
    return !rendering.failed();
  });
}

Dict dict_of(Rendering& rendering, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) {
    rendering.fail("dict expected at most 1 argument, got " +
                   std::to_string(arguments.positional.size()));
    return dict;
  }
  for (const Value& given : arguments.positional) {
    if (given.kind() == Value::Kind::kDict) {
      dict = given.dict();
    } else {
      add_pairs(rendering, given, dict);
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value::string(name), value);
  rendering.may_make_list(dict.size());
  return dict;
}

Value make_dict(Rendering& rendering, const Arguments& arguments) {
  return rendering.checked(Value::dict(dict_of(rendering, arguments)));
}

// dict.fromkeys(keys, value).
Value dict_from_keys(Rendering& rendering, const Value& /*self*/, const Arguments& arguments) {
  const Parameters given(rendering, "fromkeys", arguments, {"/iterable", "/value"}, 1);
  Dict dict;
  if (!given) return {};
  for_each_value(rendering, given[0], [&](const Value& key) {
    if (rendering.is_key(key)) {
      dict.set(key, given[1]);
    } else {
      rendering.fail("unhashable type: '" + key.type_name() + "'");
    }
    return !rendering.failed();
  });
  return rendering.checked(Value::dict(std::move(dict)));
}

constexpr Method kFromKeys = {"fromkeys", dict_from_keys};

// `dict`, which is called, and has one method.
class DictFunction : public Function {
 public:
  DictFunction() : Function(make_dict) {}
  std::optional<Value> attribute(Rendering& /*rendering*/, std::string_view name) override {
    if (name != kFromKeys.name) return std::nullopt;
    return Value::object(std::make_shared<BoundMethod>(Value(), kFromKeys));
  }
};

Value make_namespace(Rendering& rendering, const Arguments& arguments) {
  auto made = std::make_shared<Namespace>();
  rendering.keep(made);
  const Dict attributes = dict_of(rendering, arguments);
  for (const auto& [name, value] : attributes.entries()) made->set(rendering, name, value);
  return Value::object(std::move(made));
}

// Gives nothing at its first call, and a separator at each other.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  [[nodiscard]] std::string_view type_name() const override { return "Joiner"; }
  [[nodiscard]] bool is_callable() const override { return true; }
  Value call(Rendering& rendering, const Arguments& arguments) override {
    const Parameters given(rendering, "joiner", arguments, {}, 0);
    return std::exchange(used_, true) ? separator_ : Value::string("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value make_joiner(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "joiner", arguments, {"sep"}, 0);
  if (!given) return {};
  return Value::object(std::make_shared<Joiner>(given.has(0) ? given[0] : Value::string(", ")));
}

// Gives values in turn.
class Cycler : public Object {
 public:
  explicit Cycler(Value values) : Object(values.depth()), values_(std::move(values)) {}
  [[nodiscard]] std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;

  Value next() {
    Value value = current();
    at_ = (at_ + 1) % values_.elements().size();
    return value;
  }
  void reset() { at_ = 0; }

 private:
  [[nodiscard]] Value current() const { return values_.elements()[at_]; }

  Value values_;
  std::size_t at_ = 0;
};

constexpr Method kNext = {"next",
                          [](Rendering& rendering, const Value& self, const Arguments& arguments) {
                            const Parameters given(rendering, "next", arguments, {}, 0);
                            return self.as<Cycler>()->next();
                          }};
constexpr Method kReset = {"reset",
                           [](Rendering& rendering, const Value& self, const Arguments& arguments) {
                             const Parameters given(rendering, "reset", arguments, {}, 0);
                             self.as<Cycler>()->reset();
                             return Value();
                           }};

std::optional<Value> Cycler::attribute(Rendering& /*rendering*/, std::string_view name) {
  if (name == "current") return current();
  if (name == "items") return values_;
  if (name == "pos") return Value::integer(static_cast<std::int64_t>(at_));
  for (const Method* const method : {&kNext, &kReset}) {
    if (method->name == name) {
      return Value::object(
          std::make_shared<BoundMethod>(Value::object(shared_from_this()), *method));
    }
  }
  return std::nullopt;
}

Value make_cycler(Rendering& rendering, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty())
    return rendering.fail("at least one item has to be provided");
  return Value::object(std::make_shared<Cycler>(Value::tuple(arguments.positional)));
}

Value raise_exception(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "raise_exception", arguments, {"message"}, 1);
  if (!given) return {};
  return rendering.fail(str_of(rendering, given[0]).bytes());
}

Value strftime_now(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "strftime_now", arguments, {"format"}, 1);
  if (!given) return {};
  const Text format = given.text(0, "");
  if (rendering.failed()) return {};
  return Value::string(date_text(rendering, format, rendering.now()));
}

Value lipsum(Rendering& rendering, const Arguments& /*arguments*/) {
  return rendering.fail("lipsum() is random, and not supported");
}

}  // namespace

Value global(std::string_view name) {
  constexpr auto kFunctions = std::to_array<std::pair<std::string_view, Function::Call>>({
      {"range", make_range},
      {"namespace", make_namespace},
      {"raise_exception", raise_exception},
      {"strftime_now", strftime_now},
      {"cycler", make_cycler},
      {"joiner", make_joiner},
      {"lipsum", lipsum},
  });
  if (name == "dict") return Value::object(std::make_shared<DictFunction>());
  for (const auto& [known, call] : kFunctions) {
    if (known == name) return Value::object(std::make_shared<Function>(call));
  }
  return Value::missing();
}

}  // namespace polystate::chat_template
