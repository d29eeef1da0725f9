#include "artifact/expression_reader.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/operators.h"
#include "core/json_cursor.h"
#include "core/text.h"
#include "polystate/artifact/expression.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using Op = Expression::Op;

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Appends the steps of expressions in postfix order.
class Reader {
 public:
  explicit Reader(std::span<const std::string> symbols) : symbols_(symbols) {}

  void read(const JsonCursor& at) {
    if (at.is_array()) {
      read_operation(at);
    } else if (at.is_string()) {
      read_symbol(at);
    } else if (!at.is_integer()) {
      at.fail_as_not("an integer, a symbol's name or an operation");
    } else {
      steps_.push_back({Op::kConstant, at.integer()});
    }
  }

  std::vector<Expression::Step> take() { return std::move(steps_); }

 private:
  void read_symbol(const JsonCursor& at) {
    const std::string name = at.text();
    const auto found = std::find(symbols_.begin(), symbols_.end(), name);
    if (found == symbols_.end()) {
      at.fail(in_quotes(name) + " is not a symbol of this method, which has " +
              (symbols_.empty() ? "none" : join(symbols_)));
    }
    steps_.push_back({Op::kSymbol, found - symbols_.begin()});
  }

  void read_operation(const JsonCursor& at) {
    const std::vector<JsonCursor> parts = at.elements(Expression::kMaxSteps);
    if (!at.ok()) return;
    if (parts.empty()) return at.fail("an expression must not be an empty array");
    const std::string name = parts[0].text();
    const Operator* found = operator_named(name);
    if (found == nullptr) return parts[0].fail(in_quotes(name) + " is not an operator");
    const std::size_t count = parts.size() - 1;
    if (count < found->least_operands || count > found->most_operands) {
      return at.fail("operator " + name + " takes " + std::to_string(found->least_operands) +
                     (found->most_operands > found->least_operands ? " or more" : "") +
                     " operands, has " + std::to_string(count));
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
      read(parts[i]);
      if (i > 1 || found->op == Op::kNot) steps_.push_back({found->op, 0});
    }
  }

  std::span<const std::string> symbols_;
  std::vector<Expression::Step> steps_;
};

}  // namespace

Expression read_expression(const JsonCursor& at, std::span<const std::string> symbols) {
  Reader reader(symbols);
  reader.read(at);
  if (!at.ok()) return Expression::constant(0);
  Result<Expression> expression = Expression::create(reader.take(), symbols.size());
  if (expression) return *std::move(expression);
  at.fail(expression.error().message);
  return Expression::constant(0);
}

}  // namespace polystate
