#include "chat_template/operators.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/number.h"
#include "chat_template/object.h"
#include "chat_template/percent_format.h"
#include "chat_template/python_text.h"
#include "chat_template/range.h"
#include "chat_template/rendering.h"
#include "chat_template/string_positions.h"
#include "chat_template/string_search.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

std::string_view symbol_of(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kFloorDivide:
      return "//";
    case BinaryOperator::kRemainder:
      return "%";
    case BinaryOperator::kPower:
      return "**";
  }
  return "";
}

Origin origin_of_both(const Value& a, const Value& b) {
  return a.origin() != Origin::kTemplate || b.origin() != Origin::kTemplate ? Origin::kUser
                                                                            : Origin::kTemplate;
}

// The result of an operation of integers; none where it has more than 64 bits.
std::optional<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

std::optional<std::int64_t> subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional(difference);
}

std::optional<std::int64_t> multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

// Both round towards minus infinity; `b` is not 0.
std::optional<std::int64_t> floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return subtract(0, a);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// a / b, rounded once; `b` is not 0.
double divide(std::int64_t a, std::int64_t b) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53U;  // up to which a double has integers
  constexpr std::uint64_t kManyBits = std::uint64_t{1} << 54U;
  const auto magnitude = [](std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? 0 - bits : bits;
  };
  const std::uint64_t divisor = magnitude(b);
  if (a == 0 || (magnitude(a) <= kExact && divisor <= kExact))
    return static_cast<double>(a) / static_cast<double>(b);
  // The quotient by long division, with two bits more than a double has: the last one also says
  // whether anything is behind it.
  std::uint64_t quotient = magnitude(a) / divisor;
  std::uint64_t rest = magnitude(a) % divisor;
  int fraction_bits = 0;
  for (; quotient < kManyBits; ++fraction_bits) {
    rest *= 2;
    const bool bit = rest >= divisor;
    quotient = 2 * quotient + (bit ? 1U : 0U);
    if (bit) rest -= divisor;
  }
  if (rest != 0) quotient |= 1U;
  const double result = std::ldexp(static_cast<double>(quotient), -fraction_bits);
  return (a < 0) != (b < 0) ? -result : result;
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::optional<std::int64_t> result = 1;
  for (std::int64_t i = 0; result && i < exponent; ++i) result = multiply(*result, base);
  return result;
}

// Quotient and remainder of floats as Python rounds them.
std::pair<double, double> floor_divide_reals(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, remainder};
}

Value power_of_reals(Rendering& rendering, double base, double exponent, Origin origin) {
  if (base == 0 && exponent < 0) return rendering.fail("zero to a negative power");
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      exponent != std::floor(exponent))
    return rendering.fail("a negative number to a power that is no integer");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    return rendering.fail("the result of ** is too large");
  return Value::real(result, origin);
}

Value real_operation(Rendering& rendering, BinaryOperator op, const Value& a, const Value& b) {
  const Origin origin = origin_of_both(a, b);
  const double x = a.as_real();
  const double y = b.as_real();
  const bool divides = op == BinaryOperator::kDivide || op == BinaryOperator::kFloorDivide ||
                       op == BinaryOperator::kRemainder;
  if (divides && y == 0) return rendering.fail("division by zero");
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::real(x + y, origin);
    case BinaryOperator::kSubtract:
      return Value::real(x - y, origin);
    case BinaryOperator::kMultiply:
      return Value::real(x * y, origin);
    case BinaryOperator::kDivide:
      return Value::real(x / y, origin);
    case BinaryOperator::kFloorDivide:
      return Value::real(floor_divide_reals(x, y).first, origin);
    case BinaryOperator::kRemainder:
      return Value::real(floor_divide_reals(x, y).second, origin);
    case BinaryOperator::kPower:
      return power_of_reals(rendering, x, y, origin);
  }
  return {};
}

Value integer_operation(Rendering& rendering, BinaryOperator op, const Value& a, const Value& b) {
  const std::int64_t x = a.as_integer();
  const std::int64_t y = b.as_integer();
  std::optional<std::int64_t> result;
  switch (op) {
    case BinaryOperator::kAdd:
      result = add(x, y);
      break;
    case BinaryOperator::kSubtract:
      result = subtract(x, y);
      break;
    case BinaryOperator::kMultiply:
      result = multiply(x, y);
      break;
    case BinaryOperator::kFloorDivide:
      if (y == 0) return rendering.fail("integer division or modulo by zero");
      result = floor_divide(x, y);
      break;
    case BinaryOperator::kRemainder:
      if (y == 0) return rendering.fail("integer division or modulo by zero");
      result = floor_remainder(x, y);
      break;
    case BinaryOperator::kPower:
      if (y < 0) return real_operation(rendering, op, a, b);
      result = power(x, y);
      break;
    case BinaryOperator::kDivide:
      if (y == 0) return rendering.fail("division by zero");
      return Value::real(divide(x, y), origin_of_both(a, b));
  }
  if (!result) {
    return rendering.fail("the result of " + std::string(symbol_of(op)) +
                          " has more than 64 bits, which are not supported");
  }
  return Value::integer(*result, origin_of_both(a, b));
}

Value add_strings(Rendering& rendering, const Value& a, const Value& b) {
  if (!rendering.may_make_text(a.text().size() + b.text().size())) return {};
  TextBuilder sum;
  if (!a.is_markup() && !b.is_markup()) {
    sum.append(a.text());
    sum.append(b.text());
    return Value::string(sum.take());
  }
  sum.append(a.is_markup() ? a.text() : escaped_html(a.text()));
  sum.append(b.is_markup() ? b.text() : escaped_html(b.text()));
  return Value::markup(sum.take());
}

Value sequence_like(const Value& model, Elements elements) {
  return model.kind() == Value::Kind::kList ? Value::list(std::move(elements))
                                            : Value::tuple(std::move(elements));
}

Value add_sequences(Rendering& rendering, const Value& a, const Value& b) {
  if (!rendering.may_make_list(a.elements().size() + b.elements().size())) return {};
  Elements sum = a.elements();
  sum.insert(sum.end(), b.elements().begin(), b.elements().end());
  return sequence_like(a, std::move(sum));
}

Value repeat(Rendering& rendering, const Value& value, std::int64_t times) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
  const std::uint64_t size = value.is_string() ? value.text().memory() : value.elements().size();
  std::uint64_t whole = 0;
  if (__builtin_mul_overflow(count, size, &whole)) whole = UINT64_MAX / 2;
  if (value.is_string()) {
    if (!rendering.may_make_text(whole)) return {};
    TextBuilder text;
    for (std::uint64_t i = 0; size > 0 && i < count; ++i) text.append(value.text());
    return value.is_markup() ? Value::markup(text.take()) : Value::string(text.take());
  }
  if (!rendering.may_make_list(whole)) return {};
  Elements elements;
  for (std::uint64_t i = 0; size > 0 && i < count; ++i)
    elements.insert(elements.end(), value.elements().begin(), value.elements().end());
  return sequence_like(value, std::move(elements));
}

bool is_repeatable(const Value& value) { return value.is_string() || value.is_sequence(); }

// Python's order; unordered where there is none.
std::partial_ordering order(Rendering& rendering, const Value& a, const Value& b) {
  if (!rendering.spend(1)) return std::partial_ordering::unordered;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    if (!rendering.may_read_text(std::min(a.text().size(), b.text().size())))
      return std::partial_ordering::unordered;
    return a.bytes() <=> b.bytes();
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    if (!rendering.spend(std::min(a.value_count(), b.value_count())))
      return std::partial_ordering::unordered;
    const Elements& x = a.elements();
    const Elements& y = b.elements();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!x[i].is_same(y[i]) && !equal(x[i], y[i])) return order(rendering, x[i], y[i]);
    }
    return x.size() <=> y.size();
  }
  for (const Value* const operand : {&a, &b}) {
    if (operand->is_undefined()) {
      rendering.fail(operand->undefined_message());
      return std::partial_ordering::unordered;
    }
  }
  rendering.fail("a " + a.type_name() + " and a " + b.type_name() + " have no order");
  return std::partial_ordering::unordered;
}

bool contains(Rendering& rendering, const Value& item, const Value& container) {
  if (container.is_string()) {
    if (item.is_string())
      return rendering.may_read_text(container.text().size()) &&
             find_text(container.bytes(), item.bytes(), 0) != std::string_view::npos;
    rendering.fail("'in <string>' requires string as left operand, not " + item.type_name());
    return false;
  }
  if (container.kind() == Value::Kind::kDict) {
    if (rendering.is_key(item)) return container.dict().find(item) != nullptr;
    rendering.fail("unhashable type: '" + item.type_name() + "'");
    return false;
  }
  bool found = false;
  for_each_value(rendering, container, [&](const Value& element) {
    found = rendering.are_equal(element, item);
    return !found;
  });
  return found;
}

}  // namespace

Value binary(Rendering& rendering, BinaryOperator op, const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return integer_operation(rendering, op, a, b);
  if (a.is_number() && b.is_number()) return real_operation(rendering, op, a, b);
  if (a.is_undefined()) return rendering.fail(a.undefined_message());
  if (op == BinaryOperator::kRemainder && a.is_string()) return percent_format(rendering, a, b);
  if (b.is_undefined()) return rendering.fail(b.undefined_message());
  if (op == BinaryOperator::kAdd && a.is_string() && b.is_string())
    return add_strings(rendering, a, b);
  if (op == BinaryOperator::kAdd && a.is_sequence() && a.kind() == b.kind())
    return rendering.checked(add_sequences(rendering, a, b));
  if (op == BinaryOperator::kMultiply && is_repeatable(a) && b.is_integer())
    return repeat(rendering, a, b.as_integer());
  if (op == BinaryOperator::kMultiply && is_repeatable(b) && a.is_integer())
    return repeat(rendering, b, a.as_integer());
  return rendering.fail("unsupported operand types for " + std::string(symbol_of(op)) + ": '" +
                        a.type_name() + "' and '" + b.type_name() + "'");
}

Value unary(Rendering& rendering, UnaryOperator op, const Value& operand) {
  if (operand.is_undefined()) return rendering.fail(operand.undefined_message());
  if (!operand.is_number()) return rendering.fail("a " + operand.type_name() + " has no sign");
  if (!operand.is_integer()) {
    const double real = operand.as_real();
    return Value::real(op == UnaryOperator::kNegate ? -real : real, operand.origin());
  }
  const std::int64_t integer = operand.as_integer();
  if (op == UnaryOperator::kKeep) return Value::integer(integer, operand.origin());
  return integer_operation(rendering, BinaryOperator::kSubtract, Value::integer(0), operand);
}

bool compare(Rendering& rendering, Comparison op, const Value& a, const Value& b) {
  switch (op) {
    case Comparison::kEqual:
      return rendering.are_equal(a, b);
    case Comparison::kNotEqual:
      return !rendering.are_equal(a, b);
    case Comparison::kLess:
      return order(rendering, a, b) < 0;
    case Comparison::kLessOrEqual:
      return order(rendering, a, b) <= 0;
    case Comparison::kGreater:
      return order(rendering, a, b) > 0;
    case Comparison::kGreaterOrEqual:
      return order(rendering, a, b) >= 0;
    case Comparison::kIn:
      return contains(rendering, a, b);
    case Comparison::kNotIn:
      return !contains(rendering, a, b);
  }
  return false;
}

Value concatenate(Rendering& rendering, const Elements& values) {
  TextBuilder text;
  for (const Value& value : values) {
    text.append(str_of(rendering, value));
    if (!rendering.fits(text.size())) return {};
  }
  if (!rendering.may_make_text(text.size())) return {};
  return Value::string(text.take());
}

std::optional<SliceRange> slice_range(Rendering& rendering, const Slice& slice,
                                      std::int64_t length) {
  const std::int64_t step = slice.step.is_none() ? 1 : index_of(rendering, slice.step);
  if (step == 0) {
    rendering.fail("slice step cannot be zero");
    return std::nullopt;
  }
  const std::int64_t least = step < 0 ? -1 : 0;
  const std::int64_t most = step < 0 ? length - 1 : length;
  const auto bound = [&](const Value& given, std::int64_t otherwise) {
    if (given.is_none()) return otherwise;
    const std::int64_t index = index_of(rendering, given);
    return std::clamp(index < 0 ? index + length : index, least, most);
  };
  const std::int64_t first = bound(slice.start, step < 0 ? most : least);
  const std::int64_t end = bound(slice.stop, step < 0 ? least : most);
  if (rendering.failed()) return std::nullopt;
  // A step that is longer than the whole leads out of it, however long it is.
  if (step > 0) {
    const std::int64_t up = std::min(step, length + 1);
    return SliceRange{first, up, first < end ? (end - first - 1) / up + 1 : 0};
  }
  const std::int64_t down = step <= -length - 1 ? length + 1 : -step;
  return SliceRange{first, -down, first > end ? (first - end - 1) / down + 1 : 0};
}

Value slice(Rendering& rendering, const Value& object, const Slice& slice) {
  if (object.is_undefined()) return rendering.fail(object.undefined_message());
  if (object.is_string()) {
    const StringPositions positions(object.bytes());
    const auto range = slice_range(rendering, slice, positions.count());
    if (!range || !rendering.may_make_text(object.bytes().size())) return {};
    TextBuilder text;
    if (range->step == 1) {
      text.append(object.text(), positions.byte_of(range->first),
                  positions.byte_of(range->first + range->count));
    } else {
      for (std::int64_t i = 0, at = range->first; i < range->count; ++i, at += range->step)
        text.append(object.text(), positions.byte_of(at), positions.byte_of(at + 1));
    }
    return object.is_markup() ? Value::markup(text.take()) : Value::string(text.take());
  }
  if (object.is_sequence()) {
    const Elements& elements = object.elements();
    const auto range = slice_range(rendering, slice, static_cast<std::int64_t>(elements.size()));
    if (!range || !rendering.may_make_list(static_cast<std::size_t>(range->count))) return {};
    Elements picked;
    for (std::int64_t i = 0, at = range->first; i < range->count; ++i, at += range->step)
      picked.push_back(elements[static_cast<std::size_t>(at)]);
    return sequence_like(object, std::move(picked));
  }
  if (const Range* const range = object.as<Range>()) return range->sliced(rendering, slice);
  return rendering.fail("a " + object.type_name() + " has no slices");
}

Text escaped_html(const Text& text) {
  const std::string_view bytes = text.bytes();
  TextBuilder escaped;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string_view escape;
    switch (bytes[i]) {
      case '&':
        escape = "&amp;";
        break;
      case '<':
        escape = "&lt;";
        break;
      case '>':
        escape = "&gt;";
        break;
      case '\'':
        escape = "&#39;";
        break;
      case '"':
        escape = "&#34;";
        break;
      default:
        continue;
    }
    escaped.append(text, kept, i);
    escaped.append(escape, text.origin_at(i));
    kept = i + 1;
  }
  escaped.append(text, kept, bytes.size());
  return escaped.take();
}

}  // namespace polystate::chat_template
