#include "chat_template/loop.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/function.h"
#include "chat_template/methods.h"
#include "chat_template/object.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

constexpr Method kCycle = {"cycle",
                           [](Rendering& rendering, const Value& self, const Arguments& arguments) {
                             return self.as<Loop>()->cycle(rendering, arguments);
                           }};
constexpr Method kChanged = {
    "changed", [](Rendering& rendering, const Value& self, const Arguments& arguments) {
      return self.as<Loop>()->changed(rendering, arguments);
    }};

bool has_length(const Value& value) {
  return value.is_string() || value.is_sequence() || value.kind() == Value::Kind::kDict ||
         value.is_undefined() ||
         (value.kind() == Value::Kind::kObject && value.object().length().has_value());
}

}  // namespace

Loop::Loop(Value iterable, std::shared_ptr<Iterator> iterator, std::int64_t depth, Recurse recurse)
    : Object(iterator->depth()),
      iterable_(std::move(iterable)),
      iterator_(std::move(iterator)),
      loop_depth_(depth),
      recurse_(std::move(recurse)) {}

const std::optional<Value>& Loop::peek(Rendering& rendering) {
  if (!peeked_) after_ = next_of(rendering, *iterator_);
  peeked_ = true;
  return after_;
}

bool Loop::advance(Rendering& rendering) {
  const std::optional<Value> next = peek(rendering);
  if (!next) return false;
  peeked_ = false;
  ++index_;
  before_ = std::exchange(current_, *next);
  return true;
}

void Loop::finish() {
  recurse_ = nullptr;
  last_changed_ = std::nullopt;
  before_ = Value();
}

std::int64_t Loop::count(Rendering& rendering) {
  if (count_) return *count_;
  if (has_length(iterable_)) {
    count_ = length_of(rendering, iterable_);
    return *count_;
  }
  Elements rest = elements_of(rendering, Value::object(iterator_));
  const auto size = static_cast<std::int64_t>(rest.size());
  count_ = size + index_ + 1 + (peeked_ && after_ ? 1 : 0);
  iterator_ = chat_template::iterate(Value::list(std::move(rest)));
  return *count_;
}

std::optional<Value> Loop::attribute(Rendering& rendering, std::string_view name) {
  if (name == "index") return Value::integer(index_ + 1);
  if (name == "index0") return Value::integer(index_);
  if (name == "first") return Value::boolean(index_ == 0);
  if (name == "last") return Value::boolean(!peek(rendering).has_value());
  if (name == "length") return Value::integer(count(rendering));
  if (name == "revindex") return Value::integer(count(rendering) - index_);
  if (name == "revindex0") return Value::integer(count(rendering) - index_ - 1);
  if (name == "depth") return Value::integer(loop_depth_ + 1);
  if (name == "depth0") return Value::integer(loop_depth_);
  if (name == "previtem") {
    return index_ > 0 ? before_ : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    const std::optional<Value>& next = peek(rendering);
    return next ? *next : Value::undefined("there is no next item");
  }
  const auto method = [this](const Method& found) {
    return Value::object(std::make_shared<BoundMethod>(Value::object(shared_from_this()), found));
  };
  if (name == "cycle") return method(kCycle);
  if (name == "changed") return method(kChanged);
  return std::nullopt;
}

Value Loop::call(Rendering& rendering, const Arguments& arguments) {
  const Parameters parameters(rendering, "loop", arguments, {"iterable"}, 1);
  if (!parameters) return {};
  if (!recurse_) {
    return rendering.fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  return recurse_(parameters[0], loop_depth_ + 1);
}

bool Loop::write(Rendering& rendering, TextBuilder& builder) {
  builder.append(
      "<LoopContext " + std::to_string(index_ + 1) + "/" + std::to_string(count(rendering)) + ">",
      Origin::kTemplate);
  return true;
}

Value Loop::cycle(Rendering& rendering, const Arguments& arguments) const {
  const Elements& values = arguments.positional;
  if (values.empty()) return rendering.fail("no items for cycling given");
  return values[static_cast<std::size_t>(index_) % values.size()];
}

Value Loop::changed(Rendering& rendering, const Arguments& arguments) {
  const Value values = Value::tuple(arguments.positional);
  const bool same = last_changed_ && rendering.are_equal(*last_changed_, values);
  if (!same) last_changed_ = values;
  return Value::boolean(!same);
}

}  // namespace polystate::chat_template
