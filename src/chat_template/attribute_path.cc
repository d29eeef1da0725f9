#include "chat_template/attribute_path.h"

#include <string_view>
#include <utility>

#include "chat_template/attributes.h"
#include "chat_template/number.h"
#include "chat_template/rendering.h"
#include "chat_template/string_functions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

// A part of a path: an index where it is all digits.
Value part(Rendering& rendering, Text text) {
  const std::string_view bytes = text.bytes();
  const bool digits =
      !bytes.empty() && bytes.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return Value::string(std::move(text));
  const ParsedInteger index = parse_integer(bytes, 10);
  if (index.outcome == ParsedInteger::Outcome::kValue) return Value::integer(index.value);
  return rendering.fail("an index has more than 64 bits, which are not supported");
}

}  // namespace

AttributePath::AttributePath(Rendering& rendering, const Value& attribute) {
  if (attribute.is_none()) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  for (Text& text : split(rendering, attribute.text(), ".", -1, false))
    parts_.push_back(part(rendering, std::move(text)));
}

Value AttributePath::of(Rendering& rendering, Value value) const {
  return of(rendering, std::move(value), Value());
}

Value AttributePath::of(Rendering& rendering, Value value, const Value& otherwise) const {
  for (const Value& part : parts_) {
    value = get_item(rendering, value, part);
    if (value.is_undefined() && !otherwise.is_none()) value = otherwise;
  }
  return value;
}

}  // namespace polystate::chat_template
