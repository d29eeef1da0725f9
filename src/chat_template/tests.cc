#include "chat_template/tests.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/filters.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/range.h"
#include "chat_template/rendering.h"
#include "chat_template/string_functions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

// A test that looks at the value alone.
template <bool (*has)(Rendering&, const Value&)>
bool one(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "test", arguments, {"value"}, 1);
  return given && has(rendering, given[0]);
}

template <bool (*has)(const Value&)>
bool kind(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "test", arguments, {"value"}, 1);
  return given && has(given[0]);
}

template <Comparison op>
bool compared(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "test", arguments, {"/a", "/b"}, 2);
  return given && compare(rendering, op, given[0], given[1]);
}

bool has_remainder(Rendering& rendering, const Value& value, const Value& divisor,
                   std::int64_t remainder) {
  const Value found = binary(rendering, BinaryOperator::kRemainder, value, divisor);
  return !rendering.failed() && equal(found, Value::integer(remainder));
}

bool is_odd(Rendering& rendering, const Value& value) {
  return has_remainder(rendering, value, Value::integer(2), 1);
}

bool is_even(Rendering& rendering, const Value& value) {
  return has_remainder(rendering, value, Value::integer(2), 0);
}

bool is_divisible(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "divisibleby", arguments, {"value", "num"}, 2);
  return given && has_remainder(rendering, given[0], given[1], 0);
}

// A test of str() of a value.
template <bool (*has)(std::string_view)>
bool text_test(Rendering& rendering, const Value& value) {
  if (!value.is_string()) return has(str_of(rendering, value).bytes());
  return rendering.may_read_text(value.text().size()) && has(value.bytes());
}

bool is_in(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "in", arguments, {"value", "seq"}, 2);
  return given && compare(rendering, Comparison::kIn, given[0], given[1]);
}

bool is_same(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "sameas", arguments, {"value", "other"}, 2);
  return given && given[0].is_same(given[1]);
}

bool is_filter(Rendering& /*rendering*/, const Value& value) {
  return value.is_string() && filter_named(value.bytes()) != nullptr;
}

bool is_test(Rendering& /*rendering*/, const Value& value) {
  return value.is_string() && test_named(value.bytes()) != nullptr;
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.kind() == Value::Kind::kBoolean; }
bool is_true(const Value& value) { return is_boolean(value) && value.as_boolean(); }
bool is_false(const Value& value) { return is_boolean(value) && !value.as_boolean(); }
bool is_integer(const Value& value) { return value.kind() == Value::Kind::kInteger; }
bool is_float(const Value& value) { return value.kind() == Value::Kind::kReal; }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_string(); }
bool is_mapping(const Value& value) { return value.kind() == Value::Kind::kDict; }
bool is_escaped(const Value& value) { return value.is_markup(); }
bool is_iterable(const Value& value) { return iterate(value) != nullptr; }

bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || is_mapping(value) ||
         value.as<Range>() != nullptr;
}

bool is_callable(const Value& value) {
  if (value.is_undefined()) return true;
  return value.kind() == Value::Kind::kObject && value.object().is_callable();
}

constexpr auto kTests = std::to_array<std::pair<std::string_view, Test>>({
    {"odd", one<is_odd>},
    {"even", one<is_even>},
    {"divisibleby", is_divisible},
    {"defined", kind<is_defined>},
    {"undefined", kind<is_undefined>},
    {"filter", one<is_filter>},
    {"test", one<is_test>},
    {"none", kind<is_none>},
    {"boolean", kind<is_boolean>},
    {"false", kind<is_false>},
    {"true", kind<is_true>},
    {"integer", kind<is_integer>},
    {"float", kind<is_float>},
    {"lower", one<text_test<is_lower_text>>},
    {"upper", one<text_test<is_upper_text>>},
    {"string", kind<is_string>},
    {"mapping", kind<is_mapping>},
    {"number", kind<is_number>},
    {"sequence", kind<is_sequence>},
    {"iterable", kind<is_iterable>},
    {"callable", kind<is_callable>},
    {"sameas", is_same},
    {"escaped", kind<is_escaped>},
    {"in", is_in},
    {"==", compared<Comparison::kEqual>},
    {"eq", compared<Comparison::kEqual>},
    {"equalto", compared<Comparison::kEqual>},
    {"!=", compared<Comparison::kNotEqual>},
    {"ne", compared<Comparison::kNotEqual>},
    {">", compared<Comparison::kGreater>},
    {"gt", compared<Comparison::kGreater>},
    {"greaterthan", compared<Comparison::kGreater>},
    {"ge", compared<Comparison::kGreaterOrEqual>},
    {">=", compared<Comparison::kGreaterOrEqual>},
    {"<", compared<Comparison::kLess>},
    {"lt", compared<Comparison::kLess>},
    {"lessthan", compared<Comparison::kLess>},
    {"<=", compared<Comparison::kLessOrEqual>},
    {"le", compared<Comparison::kLessOrEqual>},
});

}  // namespace

Test test_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kTests, name, &std::pair<std::string_view, Test>::first);
  return found == kTests.end() ? nullptr : found->second;
}

}  // namespace polystate::chat_template
