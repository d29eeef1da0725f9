#include "chat_template/object.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "chat_template/function.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

std::shared_ptr<Iterator> characters_of(const Value& string) {
  return make_iterator(0,
                       [string, at = std::size_t{0}](Rendering&) mutable -> std::optional<Value> {
                         const Text& text = string.text();
                         if (at == text.size()) return std::nullopt;
                         const std::size_t begin = at;
                         at += character_size(text.bytes()[at]);
                         return Value::string(part_of(text, begin, at));
                       });
}

std::shared_ptr<Iterator> elements_in(const Value& sequence) {
  return make_iterator(sequence.depth(), [sequence, i = std::size_t{0}](Rendering&) mutable {
    const Elements& elements = sequence.elements();
    return i < elements.size() ? std::optional(elements[i++]) : std::nullopt;
  });
}

std::shared_ptr<Iterator> keys_of(const Value& dict) {
  return make_iterator(dict.depth(), [dict, i = std::size_t{0}](Rendering&) mutable {
    const auto& entries = dict.dict().entries();
    return i < entries.size() ? std::optional(entries[i++].first) : std::nullopt;
  });
}

}  // namespace

Value Object::call(Rendering& rendering, const Arguments& /*arguments*/) {
  return rendering.fail("'" + std::string(type_name()) + "' object is not callable");
}

bool BoundMethod::equals(const Object& other) const {
  const auto* const method = dynamic_cast<const BoundMethod*>(&other);
  return method != nullptr && &method_ == &method->method_ && self_.is_same(method->self_);
}

std::shared_ptr<Iterator> iterate(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return make_iterator(0, [](Rendering&) { return std::optional<Value>(); });
    case Value::Kind::kString:
      return characters_of(value);
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return elements_in(value);
    case Value::Kind::kDict:
      return keys_of(value);
    case Value::Kind::kObject:
      return value.object().iterate();
    default:
      return nullptr;
  }
}

std::optional<Value> next_of(Rendering& rendering, Iterator& iterator) {
  if (!rendering.spend(1)) return std::nullopt;
  const std::optional<Value> value = iterator.next(rendering);
  return rendering.failed() ? std::nullopt : value;
}

std::shared_ptr<Iterator> iterate_or_fail(Rendering& rendering, const Value& value) {
  if (rendering.failed()) return nullptr;
  std::shared_ptr<Iterator> iterator = iterate(value);
  if (!iterator) rendering.fail("'" + value.type_name() + "' object is not iterable");
  return iterator;
}

Elements elements_of(Rendering& rendering, const Value& iterable) {
  Elements elements;
  for_each_value(rendering, iterable, [&](const Value& value) {
    elements.push_back(value);
    return true;
  });
  return elements;
}

std::int64_t length_of(Rendering& rendering, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 0;
    case Value::Kind::kString:
      if (!rendering.may_read_text(value.text().size())) return 0;
      return static_cast<std::int64_t>(count_characters(value.bytes()));
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return static_cast<std::int64_t>(value.elements().size());
    case Value::Kind::kDict:
      return static_cast<std::int64_t>(value.dict().size());
    case Value::Kind::kObject:
      if (const auto length = value.object().length()) return *length;
      break;
    default:
      break;
  }
  rendering.fail("object of type '" + value.type_name() + "' has no len()");
  return 0;
}

}  // namespace polystate::chat_template
