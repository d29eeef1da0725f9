#include "chat_template/statements.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "chat_template/lexer.h"
#include "chat_template/loop.h"
#include "chat_template/macro.h"
#include "chat_template/namespace.h"
#include "chat_template/object.h"
#include "chat_template/rendering.h"
#include "chat_template/scope.h"
#include "chat_template/syntax.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

Linking inside(const Linking& linking, Scope& scope) { return {scope, false, linking.status}; }

// Fills the scope of a body with what the body names.
void link_body(const Linking& linking, Scope& scope, Body& body) {
  body.declare(scope);
  body.link(inside(linking, scope));
}

std::shared_ptr<Frame> started(const Scope& scope, std::shared_ptr<Frame> outer,
                               Rendering& rendering) {
  auto frame = std::make_shared<Frame>(scope, std::move(outer));
  frame->start(rendering);
  return frame;
}

// The target of a loop again, for the scope of its test.
ExpressionPointer copied_target(const Expression& target) {
  if (const auto* const name = dynamic_cast<const Name*>(&target))
    return std::make_unique<Name>(name->line(), name->name);
  const auto& tuple = dynamic_cast<const SequenceLiteral&>(target);
  Expressions elements;
  for (const ExpressionPointer& element : tuple.elements)
    elements.push_back(copied_target(*element));
  return std::make_unique<SequenceLiteral>(target.line(), true, std::move(elements));
}

void assign_tuple(Rendering& rendering, Frame& frame, const SequenceLiteral& target,
                  const Value& value) {
  const Elements values = elements_of(rendering, value);
  if (rendering.failed()) return;
  if (values.size() != target.elements.size()) {
    rendering.fail("there are " + std::to_string(values.size()) + " values to unpack, not " +
                   std::to_string(target.elements.size()));
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    assign(rendering, frame, *target.elements[i], values[i]);
}

Value filtered(Rendering& rendering, Frame& frame, const Filters& filters, Text text) {
  Value value = Value::string(std::move(text));
  for (const auto& filter : filters) {
    if (!rendering.failed()) value = filter->apply(rendering, frame, std::move(value));
  }
  return value;
}

// Writes what only a text may be.
void write_text(Rendering& rendering, const Value& value) {
  if (value.is_string()) return rendering.write(value.text());
  rendering.fail("a block writes a str, not a " + value.type_name());
}

}  // namespace

void declare_target(const Expression& target, Scope& scope, bool as_parameter) {
  if (const auto* const name = dynamic_cast<const Name*>(&target)) {
    if (as_parameter) return scope.declare_parameter(name->name);
    return scope.set(name->name);
  }
  if (const auto* const reference = dynamic_cast<const AttributeReference*>(&target))
    return scope.read(reference->name);
  for (const ExpressionPointer& element : dynamic_cast<const SequenceLiteral&>(target).elements)
    declare_target(*element, scope, as_parameter);
}

void assign(Rendering& rendering, Frame& frame, const Expression& target, const Value& value) {
  if (rendering.failed()) return;
  if (const auto* const name = dynamic_cast<const Name*>(&target)) {
    frame.at(name->place) = value;
    if (frame.is_top_level()) rendering.set_top_level(name->name, value);
    return;
  }
  if (const auto* const reference = dynamic_cast<const AttributeReference*>(&target)) {
    if (auto* const space = frame.at(reference->place).as<Namespace>())
      return space->set(rendering, Value::string(reference->attribute), value);
    rendering.fail("cannot assign attribute on non-namespace object");
    return;
  }
  assign_tuple(rendering, frame, dynamic_cast<const SequenceLiteral&>(target), value);
}

Flow Statement::run(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const Rendering::Inside inside(rendering, line_);
  return rendering.failed() ? Flow::kNext : execute(rendering, frame);
}

Flow Body::run(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  for (const auto& statement : statements_) {
    const Flow flow = statement->run(rendering, frame);
    if (flow != Flow::kNext || rendering.failed()) return flow;
  }
  return Flow::kNext;
}

void Body::declare(Scope& scope) const {
  for (const auto& statement : statements_) statement->declare(scope);
}

void Body::link(const Linking& linking) {
  for (const auto& statement : statements_) statement->link(linking);
}

Flow Data::execute(Rendering& rendering, const std::shared_ptr<Frame>& /*frame*/) const {
  rendering.write(text);
  return Flow::kNext;
}

Flow Output::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const Value value = expression->value(rendering, *frame);
  if (!rendering.failed()) rendering.write(value);
  return Flow::kNext;
}

void If::declare(Scope& scope) const {
  // The first test is always evaluated; what the others read makes no difference.
  const std::size_t begin = scope.branches_begin();
  for (const Branch& branch : branches) {
    branch.test->declare(scope);
    branch.body.declare(scope);
  }
  otherwise.declare(scope);
  scope.branches_end(begin);
}

void If::link(const Linking& linking) {
  const Linking optional = {linking.scope, true, linking.status};
  for (Branch& branch : branches) {
    branch.test->link(optional);
    branch.body.link(optional);
  }
  otherwise.link(optional);
}

Flow If::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  for (const Branch& branch : branches) {
    const bool taken = branch.test->value(rendering, *frame).is_true();
    if (rendering.failed()) return Flow::kNext;
    if (taken) return branch.body.run(rendering, frame);
  }
  return otherwise.run(rendering, frame);
}

void For::link(const Linking& linking) {
  iterable->link(linking);
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  body_scope_->declare_parameter("loop");
  declare_target(*target, *body_scope_, true);
  body.declare(*body_scope_);
  target->link(inside(linking, *body_scope_));
  loop_place_ = body_scope_->find("loop");
  body.link(inside(linking, *body_scope_));
  otherwise_scope_ = std::make_unique<Scope>(&linking.scope);
  link_body(linking, *otherwise_scope_, otherwise);
  if (!test) return;
  test_scope_ = std::make_unique<Scope>(&linking.scope);
  test_target_ = copied_target(*target);
  declare_target(*test_target_, *test_scope_, true);
  test->declare(*test_scope_);
  test_target_->link(inside(linking, *test_scope_));
  test->link(inside(linking, *test_scope_));
}

Flow For::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const Value over = iterable->value(rendering, *frame);
  return rendering.failed() ? Flow::kNext : loop_over(rendering, frame, over, 0);
}

std::shared_ptr<Iterator> For::tested(Rendering& rendering, const std::shared_ptr<Frame>& outer,
                                      std::shared_ptr<Iterator> iterator) const {
  const std::uint32_t depth = iterator->depth();
  std::shared_ptr<Frame> frame = started(*test_scope_, outer, rendering);
  return make_iterator(
      depth, [this, iterator = std::move(iterator), frame = std::move(frame)](Rendering& run) {
        while (std::optional<Value> value = next_of(run, *iterator)) {
          assign(run, *frame, *test_target_, *value);
          if (test->value(run, *frame).is_true()) return value;
        }
        return std::optional<Value>();
      });
}

Flow For::loop_over(Rendering& rendering, const std::shared_ptr<Frame>& outer, const Value& over,
                    std::int64_t depth) const {
  std::shared_ptr<Iterator> iterator = iterate_or_fail(rendering, over);
  if (!iterator) return Flow::kNext;
  if (test) iterator = tested(rendering, outer, std::move(iterator));
  Loop::Recurse recurse;
  if (is_recursive) {
    recurse = [&](const Value& inner, std::int64_t inner_depth) {
      return Value::string(
          rendering.capture([&] { loop_over(rendering, outer, inner, inner_depth); }));
    };
  }
  const Value counted = test ? Value::object(iterator) : over;
  const auto loop = std::make_shared<Loop>(counted, std::move(iterator), depth, std::move(recurse));
  const auto frame = std::make_shared<Frame>(*body_scope_, outer);
  // A round that is cut short does not count, as in jinja2.
  bool had_whole_round = false;
  while (loop->advance(rendering)) {
    frame->at(loop_place_) = Value::object(loop);
    assign(rendering, *frame, *target, loop->current());
    frame->start(rendering);
    const Flow flow = body.run(rendering, frame);
    if (flow == Flow::kNext) had_whole_round = true;
    if (flow == Flow::kBreak || rendering.failed()) break;
  }
  loop->finish();
  frame->clear();
  if (had_whole_round || rendering.failed() || otherwise.empty()) return Flow::kNext;
  const std::shared_ptr<Frame> otherwise_frame = started(*otherwise_scope_, outer, rendering);
  const Flow flow = otherwise.run(rendering, otherwise_frame);
  otherwise_frame->clear();
  return flow;
}

void Set::declare(Scope& scope) const {
  expression->declare(scope);
  declare_target(*target, scope, false);
}

void Set::link(const Linking& linking) {
  expression->link(linking);
  target->link(linking);
}

Flow Set::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  assign(rendering, *frame, *target, expression->value(rendering, *frame));
  return Flow::kNext;
}

void SetBlock::link(const Linking& linking) {
  target->link(linking);
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  link_body(linking, *body_scope_, body);
  // jinja2 knows no names that nothing but these filters reads, and refuses them.
  for (const auto& filter : filters) filter->link(inside(linking, *body_scope_));
}

Flow SetBlock::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const std::shared_ptr<Frame> inner = started(*body_scope_, frame, rendering);
  Flow flow = Flow::kNext;
  Text text = rendering.capture([&] { flow = body.run(rendering, inner); });
  if (flow == Flow::kNext && !rendering.failed())
    assign(rendering, *frame, *target, filtered(rendering, *inner, filters, std::move(text)));
  inner->clear();
  return flow;
}

void FilterBlock::declare(Scope& scope) const {
  for (const auto& filter : filters) filter->declare(scope);
}

void FilterBlock::link(const Linking& linking) {
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  link_body(linking, *body_scope_, body);
  for (const auto& filter : filters) filter->declare(*body_scope_);
  for (const auto& filter : filters) filter->link(inside(linking, *body_scope_));
}

Flow FilterBlock::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const std::shared_ptr<Frame> inner = started(*body_scope_, frame, rendering);
  Flow flow = Flow::kNext;
  Text text = rendering.capture([&] { flow = body.run(rendering, inner); });
  if (flow == Flow::kNext && !rendering.failed())
    write_text(rendering, filtered(rendering, *inner, filters, std::move(text)));
  inner->clear();
  return flow;
}

void With::declare(Scope& scope) const {
  for (const auto& [target, value] : values) value->declare(scope);
}

void With::link(const Linking& linking) {
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  for (const auto& [target, value] : values) {
    value->link(linking);
    declare_target(*target, *body_scope_, true);
  }
  body.declare(*body_scope_);
  for (const auto& [target, value] : values) target->link(inside(linking, *body_scope_));
  body.link(inside(linking, *body_scope_));
}

Flow With::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const std::shared_ptr<Frame> inner = started(*body_scope_, frame, rendering);
  for (const auto& [target, value] : values)
    assign(rendering, *inner, *target, value->value(rendering, *frame));
  const Flow flow = body.run(rendering, inner);
  inner->clear();
  return flow;
}

void MacroBody::link(const Linking& linking, std::uint32_t line) {
  scope = std::make_unique<Scope>(&linking.scope);
  bool names_caller = false;
  for (const Parameter& parameter : parameters) {
    scope->declare_parameter(parameter.name);
    if (parameter.name == "caller") names_caller = true;
    if (parameter.name == "caller" && takes_caller && !parameter.otherwise && linking.status) {
      linking.status = syntax_error(line, "the special argument 'caller' needs a default");
    }
    if (parameter.name == "kwargs") takes_named = false;
    if (parameter.name == "varargs") takes_positional = false;
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.otherwise) parameter.otherwise->declare(*scope);
  }
  body.declare(*scope);
  if (takes_caller && !names_caller) scope->declare_parameter("caller");
  if (takes_named) scope->declare_parameter("kwargs");
  if (takes_positional) scope->declare_parameter("varargs");
  const Linking in_scope = inside(linking, *scope);
  for (const Parameter& parameter : parameters) {
    if (parameter.otherwise) parameter.otherwise->link(in_scope);
  }
  body.link(in_scope);
}

void MacroStatement::link(const Linking& linking) {
  place_ = linking.scope.find(macro.name);
  macro.link(linking, line());
}

Flow MacroStatement::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  Value made = Value::object(std::make_shared<Macro>(macro, frame));
  frame->at(place_) = made;
  if (frame->is_top_level()) rendering.set_top_level(macro.name, std::move(made));
  return Flow::kNext;
}

void CallBlock::link(const Linking& linking) {
  call->link(linking);
  caller.link(linking, line());
}

Flow CallBlock::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const Value made = Value::object(std::make_shared<Macro>(caller, frame));
  const Value result = call->call_with(rendering, *frame, made);
  if (!rendering.failed()) write_text(rendering, result);
  return Flow::kNext;
}

void ScopedBlock::link(const Linking& linking) {
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  link_body(linking, *body_scope_, body);
}

Flow ScopedBlock::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const std::shared_ptr<Frame> inner = started(*body_scope_, frame, rendering);
  const Flow flow = body.run(rendering, inner);
  inner->clear();
  return flow;
}

void Block::link(const Linking& linking) {
  body_scope_ = std::make_unique<Scope>(nullptr);
  link_body(linking, *body_scope_, body);
}

Flow Block::execute(Rendering& rendering, const std::shared_ptr<Frame>& /*frame*/) const {
  if (is_required) {
    rendering.fail("a required block is not found");
    return Flow::kNext;
  }
  const std::shared_ptr<Frame> inner = started(*body_scope_, nullptr, rendering);
  body.run(rendering, inner);
  inner->clear();
  return Flow::kNext;
}

void Autoescape::link(const Linking& linking) {
  body_scope_ = std::make_unique<Scope>(&linking.scope);
  is_on->declare(*body_scope_);
  link_body(linking, *body_scope_, body);
  is_on->link(inside(linking, *body_scope_));
}

Flow Autoescape::execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const {
  const std::shared_ptr<Frame> inner = started(*body_scope_, frame, rendering);
  const Value on = is_on->value(rendering, *inner);
  if (on.is_true()) rendering.fail("autoescape is not supported");
  const Flow flow = body.run(rendering, inner);
  inner->clear();
  return flow;
}

void OtherTemplate::declare(Scope& scope) const {
  other->declare(scope);
  for (const std::string& name : imported) scope.set(name);
}

Flow OtherTemplate::execute(Rendering& rendering, const std::shared_ptr<Frame>& /*frame*/) const {
  rendering.fail("a chat template has no other templates to read");
  return Flow::kNext;
}

}  // namespace polystate::chat_template
