#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat_template/scope.h"
#include "chat_template/syntax.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Iterator;

using Filters = std::vector<std::unique_ptr<FilterExpression>>;

// Text of the template itself.
struct Data : Statement {
  Data(std::uint32_t line, std::string bytes)
      : Statement(line), text(std::move(bytes), Origin::kTemplate) {}
  void declare(Scope& /*scope*/) const override {}
  void link(const Linking& /*linking*/) override {}
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  Text text;
};

// {{ expression }}
struct Output : Statement {
  Output(std::uint32_t line, ExpressionPointer of) : Statement(line), expression(std::move(of)) {}
  void declare(Scope& scope) const override { expression->declare(scope); }
  void link(const Linking& linking) override { expression->link(linking); }
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  ExpressionPointer expression;
};

struct If : Statement {
  struct Branch {
    ExpressionPointer test;
    Body body;
  };
  using Statement::Statement;
  void declare(Scope& scope) const override;
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  std::vector<Branch> branches;  // if and elif
  Body otherwise;
};

struct For : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override { iterable->declare(scope); }
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;

  ExpressionPointer target;
  ExpressionPointer iterable;
  ExpressionPointer test;  // nullptr: none
  bool is_recursive = false;
  Body body;
  Body otherwise;

 private:
  // Does all rounds over the values of `over`, in a loop so deep.
  Flow loop_over(Rendering& rendering, const std::shared_ptr<Frame>& outer, const Value& over,
                 std::int64_t depth) const;
  // The values of an iterator that pass the test.
  std::shared_ptr<Iterator> tested(Rendering& rendering, const std::shared_ptr<Frame>& outer,
                                   std::shared_ptr<Iterator> iterator) const;

  ExpressionPointer test_target_;
  std::unique_ptr<Scope> body_scope_;
  std::unique_ptr<Scope> test_scope_;
  std::unique_ptr<Scope> otherwise_scope_;
  Place loop_place_;
};

struct Set : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override;
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  ExpressionPointer target;
  ExpressionPointer expression;
};

// {% set name | filter %}...{% endset %}
struct SetBlock : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override { declare_target(*target, scope, false); }
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  ExpressionPointer target;
  Filters filters;  // of the text, one after another
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

struct FilterBlock : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override;
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  Filters filters;
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

struct With : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override;
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  std::vector<std::pair<ExpressionPointer, ExpressionPointer>> values;  // targets and values
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

// The parameters and the body of a macro, or of what a call block gives to one.
struct MacroBody {
  struct Parameter {
    std::string name;
    ExpressionPointer otherwise;  // nullptr: undefined
  };

  void link(const Linking& linking, std::uint32_t line);

  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool takes_caller = false;
  bool takes_named = false;
  bool takes_positional = false;
  std::unique_ptr<Scope> scope;
};

struct MacroStatement : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override { scope.set(macro.name); }
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  MacroBody macro;

 private:
  Place place_;
};

struct CallBlock : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override { call->declare(scope); }
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  std::unique_ptr<Call> call;
  MacroBody caller;
};

// A part in a scope of its own: a `generation` block.
struct ScopedBlock : Statement {
  using Statement::Statement;
  void declare(Scope& /*scope*/) const override {}
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

// {% block name %}, which sees no scope but the template's.
struct Block : Statement {
  using Statement::Statement;
  void declare(Scope& /*scope*/) const override {}
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  bool is_required = false;
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

struct Autoescape : Statement {
  using Statement::Statement;
  void declare(Scope& /*scope*/) const override {}
  void link(const Linking& linking) override;
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  ExpressionPointer is_on;
  Body body;

 private:
  std::unique_ptr<Scope> body_scope_;
};

struct Jump : Statement {
  Jump(std::uint32_t line, Flow to) : Statement(line), flow(to) {}
  void declare(Scope& /*scope*/) const override {}
  void link(const Linking& /*linking*/) override {}
  Flow execute(Rendering& /*rendering*/, const std::shared_ptr<Frame>& /*frame*/) const override {
    return flow;
  }
  Flow flow;
};

// What would read another template: there is none, so that reaching it is an error.
struct OtherTemplate : Statement {
  using Statement::Statement;
  void declare(Scope& scope) const override;
  void link(const Linking& linking) override { other->link(linking); }
  Flow execute(Rendering& rendering, const std::shared_ptr<Frame>& frame) const override;
  ExpressionPointer other;
  std::vector<std::string> imported;
};

}  // namespace polystate::chat_template
