#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/arguments.h"
#include "chat_template/attributes.h"
#include "chat_template/lexer.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/scope.h"
#include "chat_template/syntax.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

void add_children(const Expressions& expressions, std::vector<Expression*>& all) {
  for (const ExpressionPointer& expression : expressions) all.push_back(expression.get());
}

std::vector<Expression*> those_given(std::initializer_list<Expression*> expressions) {
  std::vector<Expression*> given;
  std::ranges::copy_if(expressions, std::back_inserter(given),
                       [](const Expression* expression) { return expression != nullptr; });
  return given;
}

Value value_or_none(const ExpressionPointer& expression, Rendering& rendering, Frame& frame) {
  return expression ? expression->value(rendering, frame) : Value();
}

void refuse_unknown(const Linking& linking, std::uint32_t line, std::string_view kind,
                    const std::string& name) {
  if (linking.is_optional || !linking.status) return;
  linking.status = syntax_error(line, "No " + std::string(kind) + " named " + quoted(name) + ".");
}

}  // namespace

Value Expression::value(Rendering& rendering, Frame& frame) const {
  if (rendering.failed()) return {};
  const Rendering::Inside inside(rendering, line_);
  return rendering.failed() ? Value() : evaluate(rendering, frame);
}

void Expression::declare(Scope& scope) const {
  declare_own(scope);
  for (const Expression* const child : children()) child->declare(scope);
}

void Expression::link(const Linking& linking) {
  for (Expression* const child : children()) child->link(linking);
}

void Expression::measure_depth() {
  for (const Expression* const child : children()) depth_ = std::max(depth_, child->depth_ + 1);
}

Value Constant::evaluate(Rendering& /*rendering*/, Frame& /*frame*/) const { return constant; }

Value Name::evaluate(Rendering& /*rendering*/, Frame& frame) const {
  const Value& value = frame.at(place);
  return value.is_missing() ? Value::undefined(quoted(name) + " is undefined") : value;
}

void Name::link(const Linking& linking) {
  if (linking.scope.is_known(name)) {
    place = linking.scope.find(name);
  } else if (linking.status) {
    linking.status = syntax_error(line(), "the name " + quoted(name) + " is not known here");
  }
}

Value AttributeReference::evaluate(Rendering& rendering, Frame& frame) const {
  return get_attribute(rendering, frame.at(place), attribute);
}

Value SequenceLiteral::evaluate(Rendering& rendering, Frame& frame) const {
  Elements values;
  values.reserve(elements.size());
  for (const ExpressionPointer& element : elements)
    values.push_back(element->value(rendering, frame));
  return rendering.checked(is_tuple ? Value::tuple(std::move(values))
                                    : Value::list(std::move(values)));
}

std::vector<Expression*> SequenceLiteral::children() const {
  std::vector<Expression*> all;
  add_children(elements, all);
  return all;
}

Value DictLiteral::evaluate(Rendering& rendering, Frame& frame) const {
  Dict dict;
  for (const auto& [key, value] : entries) {
    Value evaluated = key->value(rendering, frame);
    if (!rendering.is_key(evaluated))
      return rendering.fail("unhashable type: '" + evaluated.type_name() + "'");
    dict.set(std::move(evaluated), value->value(rendering, frame));
  }
  return rendering.checked(Value::dict(std::move(dict)));
}

std::vector<Expression*> DictLiteral::children() const {
  std::vector<Expression*> all;
  for (const auto& [key, value] : entries) {
    all.push_back(key.get());
    all.push_back(value.get());
  }
  return all;
}

Value Unary::evaluate(Rendering& rendering, Frame& frame) const {
  return unary(rendering, op, operand->value(rendering, frame));
}

Value Not::evaluate(Rendering& rendering, Frame& frame) const {
  return Value::boolean(!operand->value(rendering, frame).is_true());
}

Value Binary::evaluate(Rendering& rendering, Frame& frame) const {
  const Value a = left->value(rendering, frame);
  const Value b = right->value(rendering, frame);
  return rendering.failed() ? Value() : binary(rendering, op, a, b);
}

Value Logical::evaluate(Rendering& rendering, Frame& frame) const {
  const Value first = left->value(rendering, frame);
  return first.is_true() == is_and ? right->value(rendering, frame) : first;
}

Value Comparisons::evaluate(Rendering& rendering, Frame& frame) const {
  Value before = first->value(rendering, frame);
  for (const auto& [op, operand] : others) {
    Value next = operand->value(rendering, frame);
    if (rendering.failed() || !compare(rendering, op, before, next)) return Value::boolean(false);
    before = std::move(next);
  }
  return Value::boolean(true);
}

std::vector<Expression*> Comparisons::children() const {
  std::vector<Expression*> all = {first.get()};
  for (const auto& [op, operand] : others) all.push_back(operand.get());
  return all;
}

Value Concatenation::evaluate(Rendering& rendering, Frame& frame) const {
  Elements values;
  for (const ExpressionPointer& part : parts) values.push_back(part->value(rendering, frame));
  return rendering.failed() ? Value() : concatenate(rendering, values);
}

std::vector<Expression*> Concatenation::children() const {
  std::vector<Expression*> all;
  add_children(parts, all);
  return all;
}

Value Conditional::evaluate(Rendering& rendering, Frame& frame) const {
  if (test->value(rendering, frame).is_true()) return then->value(rendering, frame);
  if (otherwise) return otherwise->value(rendering, frame);
  return Value::undefined("the inline if-expression on line " + std::to_string(line()) +
                          " evaluated to false and no else section was defined.");
}

std::vector<Expression*> Conditional::children() const {
  return those_given({test.get(), then.get(), otherwise.get()});
}

void Conditional::link(const Linking& linking) {
  Expression::link({linking.scope, true, linking.status});
}

Value Attribute::evaluate(Rendering& rendering, Frame& frame) const {
  const Value of = object->value(rendering, frame);
  return rendering.failed() ? Value() : get_attribute(rendering, of, name);
}

Value Item::evaluate(Rendering& rendering, Frame& frame) const {
  const Value of = object->value(rendering, frame);
  const Value at = key->value(rendering, frame);
  return rendering.failed() ? Value() : get_item(rendering, of, at);
}

Value SliceExpression::evaluate(Rendering& rendering, Frame& frame) const {
  const Value of = object->value(rendering, frame);
  const Slice bounds = {value_or_none(start, rendering, frame),
                        value_or_none(stop, rendering, frame),
                        value_or_none(step, rendering, frame)};
  return rendering.failed() ? Value() : slice(rendering, of, bounds);
}

std::vector<Expression*> SliceExpression::children() const {
  return those_given({object.get(), start.get(), stop.get(), step.get()});
}

Arguments CallArguments::evaluate(Rendering& rendering, Frame& frame) const {
  Arguments arguments;
  for (const ExpressionPointer& expression : positional)
    arguments.positional.push_back(expression->value(rendering, frame));
  for (const auto& [name, expression] : named) {
    if (!rendering.spend(arguments.named.size() / kNamesInStep)) break;
    if (arguments.find(name) != nullptr)
      rendering.fail("the argument " + quoted(name) + " is given twice");
    arguments.named.emplace_back(name, expression->value(rendering, frame));
  }
  if (more_positional) {
    for (Value& value : elements_of(rendering, more_positional->value(rendering, frame)))
      arguments.positional.push_back(std::move(value));
  }
  if (!more_named) return arguments;
  const Value more = more_named->value(rendering, frame);
  if (more.kind() != Value::Kind::kDict) {
    rendering.fail("the argument after ** must be a mapping, not " + more.type_name());
    return arguments;
  }
  for (const auto& [key, value] : more.dict().entries()) {
    if (!rendering.spend(arguments.named.size() / kNamesInStep)) break;
    if (!key.is_string() || arguments.find(key.bytes()) != nullptr) {
      rendering.fail("the argument after ** has a key that is no str, or given before");
      return arguments;
    }
    arguments.named.emplace_back(key.bytes(), value);
  }
  return arguments;
}

void CallArguments::add_children(std::vector<Expression*>& all) const {
  chat_template::add_children(positional, all);
  for (const auto& [name, expression] : named) all.push_back(expression.get());
  if (more_positional) all.push_back(more_positional.get());
  if (more_named) all.push_back(more_named.get());
}

Value Call::evaluate(Rendering& rendering, Frame& frame) const {
  const Value function = callee->value(rendering, frame);
  return chat_template::call(rendering, function, arguments.evaluate(rendering, frame));
}

Value Call::call_with(Rendering& rendering, Frame& frame, const Value& caller) const {
  const Value function = callee->value(rendering, frame);
  Arguments with = arguments.evaluate(rendering, frame);
  if (with.find("caller") != nullptr) return rendering.fail("the caller is given twice");
  with.named.emplace_back("caller", caller);
  return chat_template::call(rendering, function, with);
}

std::vector<Expression*> Call::children() const {
  std::vector<Expression*> all = {callee.get()};
  arguments.add_children(all);
  return all;
}

Value FilterExpression::evaluate(Rendering& rendering, Frame& frame) const {
  return apply(rendering, frame, value_or_none(operand, rendering, frame));
}

Value FilterExpression::apply(Rendering& rendering, Frame& frame, Value value) const {
  if (filter == nullptr) return rendering.fail("No filter named " + quoted(name) + " found.");
  Arguments with = arguments.evaluate(rendering, frame);
  with.positional.insert(with.positional.begin(), std::move(value));
  return rendering.failed() ? Value() : filter(rendering, with);
}

std::vector<Expression*> FilterExpression::children() const {
  std::vector<Expression*> all = those_given({operand.get()});
  arguments.add_children(all);
  return all;
}

void FilterExpression::link(const Linking& linking) {
  if (filter == nullptr) refuse_unknown(linking, line(), "filter", name);
  Expression::link(linking);
}

Value TestExpression::evaluate(Rendering& rendering, Frame& frame) const {
  if (test == nullptr) return rendering.fail("No test named " + quoted(name) + " found.");
  Value value = operand->value(rendering, frame);
  Arguments with = arguments.evaluate(rendering, frame);
  with.positional.insert(with.positional.begin(), std::move(value));
  return rendering.failed() ? Value() : Value::boolean(test(rendering, with));
}

std::vector<Expression*> TestExpression::children() const {
  std::vector<Expression*> all = {operand.get()};
  arguments.add_children(all);
  return all;
}

void TestExpression::link(const Linking& linking) {
  if (test == nullptr) refuse_unknown(linking, line(), "test", name);
  Expression::link(linking);
}

}  // namespace polystate::chat_template
