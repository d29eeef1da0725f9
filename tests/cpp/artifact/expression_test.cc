#include "polystate/artifact/expression.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/expression_reader.h"
#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "support/test_files.h"

namespace polystate {
namespace {

using Op = Expression::Op;

std::vector<std::string> symbols() { return {"a", "b"}; }

Result<Expression> read(std::string_view json) {
  const Json document = parse_json(json).value();
  Status status;
  Expression expression = read_expression(JsonCursor(document, status), symbols());
  if (!status) return status.error();
  return expression;
}

std::string error_of(std::string_view json) {
  const Result<Expression> expression = read(json);
  return expression ? "(no error)" : expression.error().message;
}

std::string text_of(std::string_view json) { return read(json).value().to_string(symbols()); }

std::string failure_of(std::string_view json, std::int64_t a, std::int64_t b) {
  const Result<std::int64_t> value = read(json).value().evaluate(std::vector{a, b});
  return value ? "(no error)" : value.error().message;
}

// `one` is [expression, values of a and b, what Python says: null where it fails or leaves 64
// bits].
void expect_as_python(const nlohmann::json& one) {
  const std::vector<std::int64_t> values = one[1];
  const Result<std::int64_t> value = read(one[0].dump()).value().evaluate(values);
  const std::string found = value ? std::to_string(*value) : "null";
  EXPECT_EQ(found, one[2].dump()) << one;
}

TEST(Expression, IsWhatPythonSays) {
  std::ifstream file(test_file("artifact/data/expressions.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 1000);
  for (const nlohmann::json& one : cases) expect_as_python(one);
}

TEST(Expression, AFailureNamesTheOperands) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(failure_of(R"(["+", "a", "b"])", kLargest, 1),
            "9223372036854775807 + 1 does not fit 64 bits");
  EXPECT_EQ(failure_of(R"(["*", "a", "b"])", kLargest, 2),
            "9223372036854775807 * 2 does not fit 64 bits");
  EXPECT_EQ(failure_of(R"(["//", "a", "b"])", 7, 0), "7 // 0 divides by zero");
  EXPECT_EQ(failure_of(R"(["%", "a", "b"])", 7, 0), "7 % 0 divides by zero");
  EXPECT_EQ(failure_of(R"(["**", "a", "b"])", 2, -1), "2 ** -1 has a negative exponent");
  EXPECT_EQ(failure_of(R"(["**", "a", "b"])", 2, 64), "2 ** 64 does not fit 64 bits");
}

TEST(Expression, AFailureCountsEvenWhereItWouldNotDecide) {
  EXPECT_EQ(failure_of(R"(["or", 1, ["//", "a", "b"]])", 7, 0), "7 // 0 divides by zero");
}

TEST(Expression, IsWrittenAsPeopleWriteIt) {
  EXPECT_EQ(text_of("7"), "7");
  EXPECT_EQ(text_of(R"("a")"), "a");
  EXPECT_EQ(text_of(R"(["+", ["*", 2, "a"], 1])"), "2 * a + 1");
  EXPECT_EQ(text_of(R"(["+", ["*", 2, "a"], -1])"), "2 * a - 1");
  EXPECT_EQ(text_of(R"(["*", 2, ["+", "a", 1]])"), "2 * (a + 1)");
  EXPECT_EQ(text_of(R"(["//", ["*", "a", 3], ["*", "b", 2]])"), "a * 3 // (b * 2)");
  EXPECT_EQ(text_of(R"(["+", "a", ["+", "b", 1]])"), "a + (b + 1)");
  EXPECT_EQ(text_of(R"(["+", "a", "b", 1])"), "a + b + 1");
  EXPECT_EQ(text_of(R"(["**", ["**", "a", 2], 3])"), "(a ** 2) ** 3");
  EXPECT_EQ(text_of(R"(["==", ["%", "a", 2], 0])"), "a % 2 == 0");
  EXPECT_EQ(text_of(R"(["==", ["==", "a", 2], 0])"), "(a == 2) == 0");
  EXPECT_EQ(text_of(R"(["and", ["<", "a", 2], ["not", ["or", "a", "b"]]])"),
            "a < 2 and not (a or b)");
  EXPECT_EQ(text_of(R"(["not", ["==", "a", 2]])"), "not a == 2");
  EXPECT_EQ(text_of(R"(["max", ["+", "a", 1], "b"])"), "max(a + 1, b)");
}

TEST(Expression, KnowsItsSymbols) {
  const Expression sum = read(R"(["+", "b", 1])").value();
  EXPECT_TRUE(sum.refers_to(1));
  EXPECT_FALSE(sum.refers_to(0));
  EXPECT_FALSE(sum.is_symbol(1));
  EXPECT_TRUE(read(R"("b")").value().is_symbol(1));
  EXPECT_FALSE(read(R"("b")").value().is_symbol(0));
  EXPECT_TRUE(Expression::constant(3).is_constant());
  EXPECT_FALSE(sum.is_constant());
}

std::string refusal_of(std::vector<Expression::Step> steps) {
  const Result<Expression> expression = Expression::create(std::move(steps), 1);
  return expression ? "(no error)" : expression.error().message;
}

TEST(Expression, StepsThatLeaveNoOneValueAreRefused) {
  EXPECT_EQ(refusal_of({}), "an expression leaves 0 values; it must leave 1");
  EXPECT_EQ(refusal_of({{Op::kConstant, 1}, {Op::kConstant, 2}}),
            "an expression leaves 2 values; it must leave 1");
  EXPECT_EQ(refusal_of({{Op::kConstant, 1}, {Op::kAdd, 0}}), "operator + lacks an operand");
  EXPECT_EQ(refusal_of({{Op::kNot, 0}}), "operator not lacks an operand");
}

TEST(Expression, StepsOfUnknownSymbolsAreRefused) {
  EXPECT_EQ(refusal_of({{Op::kSymbol, 0}}), "(no error)");
  EXPECT_EQ(refusal_of({{Op::kSymbol, 1}}), "symbol 1 is not one of the 1 that there are");
  EXPECT_EQ(refusal_of({{Op::kSymbol, -1}}), "symbol -1 is not one of the 1 that there are");
}

TEST(Expression, TheStackHasALimit) {
  std::string nested = "1";
  for (std::size_t i = 1; i < Expression::kMaxDepth; ++i)
    nested.insert(0, R"(["+", 1, )").append("]");
  EXPECT_EQ(read(nested).value().evaluate({}).value(), 64);
  EXPECT_EQ(error_of("[\"+\", 1, " + nested + "]"), "an expression needs a stack deeper than 64");
}

TEST(Expression, TheNumberOfStepsHasALimit) {
  std::string sum = "[\"+\"";
  for (int i = 0; i < 600; ++i) sum += ", 1";
  EXPECT_EQ(error_of(sum + "]"), "an expression has 1199 steps; the limit is 1024");
}

TEST(Expression, WhatIsNoExpressionIsRefused) {
  EXPECT_EQ(error_of("1.5"), "must be an integer, a symbol's name or an operation, is 1.5");
  EXPECT_EQ(error_of("null"), "must be an integer, a symbol's name or an operation, is null");
  EXPECT_EQ(error_of("{}"),
            "must be an integer, a symbol's name or an operation, is an empty object");
  EXPECT_EQ(error_of("[]"), "an expression must not be an empty array");
  EXPECT_EQ(error_of(R"("c")"), "\"c\" is not a symbol of this method, which has a, b");
  EXPECT_EQ(error_of(R"(["-", 1, 2])"), "[0]: \"-\" is not an operator");
  EXPECT_EQ(error_of(R"([7, 1, 2])"), "[0]: must be a string, is 7");
  EXPECT_EQ(error_of(R"(["//", 1, 2, 3])"), "operator // takes 2 operands, has 3");
  EXPECT_EQ(error_of(R"(["+", 1])"), "operator + takes 2 or more operands, has 1");
  EXPECT_EQ(error_of(R"(["not", 1, 2])"), "operator not takes 1 operands, has 2");
  EXPECT_EQ(error_of(R"(["+", 1, ["*", "a", "c"]])"),
            "[2][2]: \"c\" is not a symbol of this method, which has a, b");
}

}  // namespace
}  // namespace polystate
