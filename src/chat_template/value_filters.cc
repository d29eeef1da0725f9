#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/attributes.h"
#include "chat_template/filters.h"
#include "chat_template/json_text.h"
#include "chat_template/number.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/plain_numbers.h"

namespace polystate::chat_template {
namespace {

Value default_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "default", arguments, {"value", "default_value", "boolean"}, 1);
  if (!given) return {};
  const bool replaced = given[0].is_undefined() || (given.truth(2, false) && !given[0].is_true());
  if (!replaced) return given[0];
  return given.has(1) ? given[1] : Value::string("");
}

Value attribute(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "attr", arguments, {"obj", "name"}, 2);
  if (!given) return {};
  const Text name = given.text(1, "");
  return rendering.failed() ? Value() : get_only_attribute(rendering, given[0], name.bytes());
}

// int() of a float; none where it has no integer.
std::optional<Value> whole(Rendering& rendering, double real, Origin origin) {
  if (!std::isfinite(real)) return std::nullopt;
  if (std::fabs(real) < 9.2e18)
    return Value::integer(static_cast<std::int64_t>(std::trunc(real)), origin);
  return rendering.fail("an integer has more than 64 bits, which are not supported");
}

std::optional<Value> integer_of_text(Rendering& rendering, const Text& text, int base) {
  const Origin origin = text.has_user_bytes() ? Origin::kUser : Origin::kTemplate;
  const ParsedInteger parsed = parse_integer(text.bytes(), base);
  if (parsed.outcome == ParsedInteger::Outcome::kValue) return Value::integer(parsed.value, origin);
  if (parsed.outcome == ParsedInteger::Outcome::kTooLarge)
    return rendering.fail("an integer has more than 64 bits, which are not supported");
  const std::optional<double> real = parse_real(text.bytes());
  return real ? whole(rendering, *real, origin) : std::nullopt;
}

Value integer(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "int", arguments, {"value", "default", "base"}, 1);
  if (!given) return {};
  const Value& value = given[0];
  Value otherwise = given.has(1) ? given[1] : Value::integer(0);
  const std::int64_t base = given.integer(2, 10);
  if (value.is_undefined()) return rendering.fail(value.undefined_message());
  if (base != 0 && (base < 2 || base > 36)) return rendering.fail("the base is not 0, or 2 to 36");
  if (value.is_string()) {
    if (!rendering.may_read_text(value.text().size())) return {};
    return integer_of_text(rendering, value.text(), static_cast<int>(base)).value_or(otherwise);
  }
  if (value.is_integer()) return Value::integer(value.as_integer(), value.origin());
  if (value.kind() != Value::Kind::kReal) return otherwise;
  if (std::isinf(value.as_real())) return rendering.fail("infinity has no integer");
  return whole(rendering, value.as_real(), value.origin()).value_or(otherwise);
}

Value real(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "float", arguments, {"value", "default"}, 1);
  if (!given) return {};
  const Value& value = given[0];
  Value otherwise = given.has(1) ? given[1] : Value::real(0);
  if (value.is_undefined()) return rendering.fail(value.undefined_message());
  if (value.is_number()) return Value::real(value.as_real(), value.origin());
  if (!value.is_string()) return otherwise;
  if (!rendering.may_read_text(value.text().size())) return {};
  const Origin origin = value.text().has_user_bytes() ? Origin::kUser : Origin::kTemplate;
  const std::optional<double> parsed = parse_real(value.bytes());
  return parsed ? Value::real(*parsed, origin) : otherwise;
}

Value absolute(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "abs", arguments, {"/x"}, 1);
  if (!given) return {};
  const Value& value = given[0];
  if (!value.is_number()) return rendering.fail("bad operand type for abs(): " + value.type_name());
  if (value.kind() == Value::Kind::kReal)
    return Value::real(std::fabs(value.as_real()), value.origin());
  const bool negative = value.as_integer() < 0;
  return unary(rendering, negative ? UnaryOperator::kNegate : UnaryOperator::kKeep, value);
}

// round() of a float, which rounds its exact decimal value.
double rounded(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  const PlainNumbers plain;
  std::array<char, 700> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(digits), value);
  return std::strtod(buffer.data(), nullptr);
}

Value rounded_integer(Rendering& rendering, const Value& value, std::int64_t digits) {
  const std::int64_t integer = value.as_integer();
  if (digits >= 0) return Value::integer(integer, value.origin());
  constexpr std::int64_t kHalf = 5'000'000'000'000'000'000;  // of 10^19, which has over 64 bits
  if (digits == -19 && (integer > kHalf || integer < -kHalf))
    return rendering.fail("the result of round() has more than 64 bits, which are not supported");
  if (digits < -18) return Value::integer(0, value.origin());
  std::int64_t unit = 1;
  for (std::int64_t i = 0; i < -digits; ++i) unit *= 10;
  std::int64_t quotient = integer / unit;
  std::int64_t rest = integer % unit;
  if (rest < 0) {  // both as Python rounds them
    rest += unit;
    --quotient;
  }
  const bool odd = quotient % 2 != 0;
  const bool up = rest * 2 > unit || (rest * 2 == unit && odd);
  return binary(rendering, BinaryOperator::kAdd, Value::integer(integer, value.origin()),
                Value::integer(up ? unit - rest : -rest));
}

Value round(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "round", arguments, {"value", "precision", "method"}, 1);
  if (!given) return {};
  const Value& value = given[0];
  const std::string method(given.text(2, "common").bytes());
  const std::int64_t digits = given.integer(1, 0);
  if (method != "common" && method != "ceil" && method != "floor")
    return rendering.fail("method must be common, ceil or floor");
  if (!value.is_number()) return rendering.fail("a " + value.type_name() + " cannot be rounded");
  if (method == "common") {
    if (value.is_integer()) return rounded_integer(rendering, value, digits);
    const double result = rounded(value.as_real(), digits);
    if (std::isinf(result) && std::isfinite(value.as_real()))
      return rendering.fail("a rounded value is too large");
    return Value::real(result, value.origin());
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = value.as_real() * scale;
  if (!std::isfinite(scaled)) return rendering.fail("a float has no integer");
  const double cut = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  // The integer that Python makes of it has no sign where it is 0.
  return Value::real((cut + 0.0) / scale, value.origin());
}

// The two texts of `separators`.
bool read_separators(Rendering& rendering, const Value& separators, JsonStyle& style) {
  const Elements two = elements_of(rendering, separators);
  if (two.size() != 2 || !two[0].is_string() || !two[1].is_string()) {
    rendering.fail("separators are two str");
    return false;
  }
  style.item_separator = two[0].text();
  style.key_separator = two[1].text();
  return true;
}

Value to_json(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "tojson", arguments,
                         {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  if (!given) return {};
  JsonStyle style;
  style.ensure_ascii = given.truth(1, false);
  style.sort_keys = given.truth(4, false);
  if (given[2].is_string()) {
    style.indent = given[2].text();
  } else if (const auto width = given.optional_integer(2)) {
    const auto spaces = static_cast<std::size_t>(std::max<std::int64_t>(*width, 0));
    if (!rendering.may_make_text(spaces)) return {};
    style.indent = Text(std::string(spaces, ' '), Origin::kTemplate);
  }
  style.item_separator = Text(style.indent ? "," : ", ", Origin::kTemplate);
  style.key_separator = Text(": ", Origin::kTemplate);
  if (!given[3].is_none() && !read_separators(rendering, given[3], style)) return {};
  return Value::string(json_of(rendering, given[0], style));
}

constexpr auto kValueFilters = std::to_array<NamedFilter>({
    {"abs", absolute},
    {"attr", attribute},
    {"d", default_filter},
    {"default", default_filter},
    {"float", real},
    {"int", integer},
    {"round", round},
    {"tojson", to_json},
});

}  // namespace

Filter value_filter(std::string_view name) {
  const auto* const found = std::ranges::find(kValueFilters, name, &NamedFilter::name);
  return found == kValueFilters.end() ? nullptr : found->filter;
}

Filter filter_named(std::string_view name) {
  for (const auto find : {text_filter, sequence_filter, value_filter}) {
    if (const Filter filter = find(name)) return filter;
  }
  return nullptr;
}

}  // namespace polystate::chat_template
