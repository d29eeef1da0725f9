#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat_template/arguments.h"
#include "chat_template/filters.h"
#include "chat_template/operators.h"
#include "chat_template/scope.h"
#include "chat_template/tests.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/core/result.h"

// The syntax tree of a template. Each construct knows how to find its variables (`declare`, then
// `link`), and how to do what it means.
namespace polystate::chat_template {

class Rendering;

// The scope that a construct is in, while variables are found.
struct Linking {
  Scope& scope;
  // Whether the construct may never be reached, so that filters and tests need not be known.
  bool is_optional;
  Status& status;  // keeps the first error
};

class Expression {
 public:
  explicit Expression(std::uint32_t line) : line_(line) {}
  virtual ~Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  // The value, counted as a step.
  Value value(Rendering& rendering, Frame& frame) const;
  // Tells the scope of the variables that are read; then finds them.
  void declare(Scope& scope) const;
  virtual void link(const Linking& linking);

  [[nodiscard]] std::uint32_t line() const { return line_; }
  // Of expressions in one another.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  // Called by the parser once the expression is whole.
  void measure_depth();

 protected:
  virtual Value evaluate(Rendering& rendering, Frame& frame) const = 0;
  virtual void declare_own(Scope& /*scope*/) const {}
  [[nodiscard]] virtual std::vector<Expression*> children() const { return {}; }

 private:
  std::uint32_t line_;
  std::uint32_t depth_ = 1;
};

using ExpressionPointer = std::unique_ptr<Expression>;
using Expressions = std::vector<ExpressionPointer>;

struct Constant : Expression {
  Constant(std::uint32_t line, Value of) : Expression(line), constant(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  Value constant;
};

struct Name : Expression {
  Name(std::uint32_t line, std::string text) : Expression(line), name(std::move(text)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  void declare_own(Scope& scope) const override { scope.read(name); }
  void link(const Linking& linking) override;
  std::string name;
  Place place;
};

// ns.attribute, as something that is set.
struct AttributeReference : Expression {
  AttributeReference(std::uint32_t line, std::string of, std::string text)
      : Expression(line), name(std::move(of)), attribute(std::move(text)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  void declare_own(Scope& scope) const override { scope.read(name); }
  void link(const Linking& linking) override { place = linking.scope.find(name); }
  std::string name;
  std::string attribute;
  Place place;
};

// [a, b] and (a, b).
struct SequenceLiteral : Expression {
  SequenceLiteral(std::uint32_t line, bool tuple, Expressions of)
      : Expression(line), is_tuple(tuple), elements(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  bool is_tuple;
  Expressions elements;
};

struct DictLiteral : Expression {
  using Expression::Expression;
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
};

struct Unary : Expression {
  Unary(std::uint32_t line, UnaryOperator o, ExpressionPointer of)
      : Expression(line), op(o), operand(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override { return {operand.get()}; }
  UnaryOperator op;
  ExpressionPointer operand;
};

struct Not : Expression {
  Not(std::uint32_t line, ExpressionPointer of) : Expression(line), operand(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override { return {operand.get()}; }
  ExpressionPointer operand;
};

struct Binary : Expression {
  Binary(std::uint32_t line, BinaryOperator o, ExpressionPointer a, ExpressionPointer b)
      : Expression(line), op(o), left(std::move(a)), right(std::move(b)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override {
    return {left.get(), right.get()};
  }
  BinaryOperator op;
  ExpressionPointer left;
  ExpressionPointer right;
};

// `and` and `or`.
struct Logical : Expression {
  Logical(std::uint32_t line, bool with_and, ExpressionPointer a, ExpressionPointer b)
      : Expression(line), is_and(with_and), left(std::move(a)), right(std::move(b)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override {
    return {left.get(), right.get()};
  }
  bool is_and;
  ExpressionPointer left;
  ExpressionPointer right;
};

// a < b <= c.
struct Comparisons : Expression {
  Comparisons(std::uint32_t line, ExpressionPointer a) : Expression(line), first(std::move(a)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  ExpressionPointer first;
  std::vector<std::pair<Comparison, ExpressionPointer>> others;
};

// a ~ b.
struct Concatenation : Expression {
  Concatenation(std::uint32_t line, Expressions of) : Expression(line), parts(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  Expressions parts;
};

// a if test else b.
struct Conditional : Expression {
  using Expression::Expression;
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  void link(const Linking& linking) override;
  ExpressionPointer test;
  ExpressionPointer then;
  ExpressionPointer otherwise;  // nullptr: undefined
};

struct Attribute : Expression {
  Attribute(std::uint32_t line, ExpressionPointer of, std::string text)
      : Expression(line), object(std::move(of)), name(std::move(text)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override { return {object.get()}; }
  ExpressionPointer object;
  std::string name;
};

struct Item : Expression {
  Item(std::uint32_t line, ExpressionPointer of, ExpressionPointer at)
      : Expression(line), object(std::move(of)), key(std::move(at)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override {
    return {object.get(), key.get()};
  }
  ExpressionPointer object;
  ExpressionPointer key;
};

struct SliceExpression : Expression {
  SliceExpression(std::uint32_t line, ExpressionPointer of)
      : Expression(line), object(std::move(of)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  ExpressionPointer object;
  ExpressionPointer start;  // all three: nullptr where they are not given
  ExpressionPointer stop;
  ExpressionPointer step;
};

// What stands between the parentheses of a call.
struct CallArguments {
  [[nodiscard]] Arguments evaluate(Rendering& rendering, Frame& frame) const;
  void add_children(std::vector<Expression*>& all) const;

  Expressions positional;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
  ExpressionPointer more_positional;  // *a
  ExpressionPointer more_named;       // **a
};

struct Call : Expression {
  Call(std::uint32_t line, ExpressionPointer of, CallArguments with)
      : Expression(line), callee(std::move(of)), arguments(std::move(with)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  // The same, with the macro that a call block makes.
  Value call_with(Rendering& rendering, Frame& frame, const Value& caller) const;
  ExpressionPointer callee;
  CallArguments arguments;
};

struct FilterExpression : Expression {
  FilterExpression(std::uint32_t line, ExpressionPointer of, std::string text, CallArguments with)
      : Expression(line),
        operand(std::move(of)),
        name(std::move(text)),
        arguments(std::move(with)),
        filter(filter_named(name)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  void link(const Linking& linking) override;
  // The filter of a block, whose operand is the block's text.
  Value apply(Rendering& rendering, Frame& frame, Value value) const;
  ExpressionPointer operand;  // nullptr: the text of a block
  std::string name;
  CallArguments arguments;
  Filter filter;  // nullptr: not known
};

struct TestExpression : Expression {
  TestExpression(std::uint32_t line, ExpressionPointer of, std::string text, CallArguments with)
      : Expression(line),
        operand(std::move(of)),
        name(std::move(text)),
        arguments(std::move(with)),
        test(test_named(name)) {}
  Value evaluate(Rendering& rendering, Frame& frame) const override;
  [[nodiscard]] std::vector<Expression*> children() const override;
  void link(const Linking& linking) override;
  ExpressionPointer operand;
  std::string name;
  CallArguments arguments;
  Test test;  // nullptr: not known
};

// What a statement goes on with.
enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

class Statement {
 public:
  explicit Statement(std::uint32_t line) : line_(line) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Does it, counted as a step.
  Flow run(Rendering& rendering, const std::shared_ptr<Frame>& frame) const;
  // Tells the scope that it is in of its variables, not those of scopes of its own.
  virtual void declare(Scope& scope) const = 0;
  // Finds them, and makes its own scopes.
  virtual void link(const Linking& linking) = 0;

  [[nodiscard]] std::uint32_t line() const { return line_; }

 protected:
  virtual Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const = 0;

 private:
  std::uint32_t line_;
};

class Body {
 public:
  void add(std::unique_ptr<Statement> statement) { statements_.push_back(std::move(statement)); }
  [[nodiscard]] bool empty() const { return statements_.empty(); }
  Flow run(Rendering& rendering, const std::shared_ptr<Frame>& frame) const;
  void declare(Scope& scope) const;
  void link(const Linking& linking);

 private:
  std::vector<std::unique_ptr<Statement>> statements_;
};

// What is set: a name, an attribute of a namespace, or a tuple of these.
void declare_target(const Expression& target, Scope& scope, bool as_parameter);
void assign(Rendering& rendering, Frame& frame, const Expression& target, const Value& value);

}  // namespace polystate::chat_template
