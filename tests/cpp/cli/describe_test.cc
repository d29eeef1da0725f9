#include "cli/describe.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"

namespace polystate::cli {
namespace {

using Op = Expression::Op;

std::vector<Symbol> two_symbols() {
  return {{.name = "batch", .input = 0, .dimension = 0, .min = 1, .max = 10},
          {.name = "length",
           .input = 0,
           .dimension = 1,
           .min = 1,
           .max = std::numeric_limits<std::int64_t>::max()}};
}

constexpr Expression::Step kBatch = {Op::kSymbol, 0};
constexpr Expression::Step kLength = {Op::kSymbol, 1};

constexpr Expression::Step number(std::int64_t value) { return {Op::kConstant, value}; }
TEST(InputTypeText, ShowsARangeWhereTheSymbolIsReadFrom) {
  MethodSpec method;
  method.symbols = two_symbols();
  InputSpec input = {"x", DType::kFloat32, {}, {}, {}};
  for (const Expression::Step& step : {kBatch, kLength, number(4)}) {
    input.shape.push_back(Expression::create({step}, method.symbols.size()).value());
  }
  InputSpec other = {"y", DType::kInt64, {}, {}, {}};
  other.shape.push_back(Expression::create({kBatch}, method.symbols.size()).value());
  method.inputs = {input, other};
  EXPECT_EQ(input_type_text(method, 0), "float32 [batch 1..10, length 1.., 4]");
  EXPECT_EQ(input_type_text(method, 1), "int64 [batch]");
}

TEST(InputTypeText, ShowsTheSymbolsRangeBesideADerivedSize) {
  MethodSpec method;
  method.symbols = {
      {.name = "batch", .input = 0, .dimension = 0, .min = 1, .max = 5, .scale = 2, .offset = 0}};
  InputSpec input = {"x", DType::kBool, {}, {}, {}};
  input.shape.push_back(Expression::create({number(2), kBatch, {Op::kMultiply, 0}}, 1).value());
  method.inputs = {input};
  EXPECT_EQ(input_type_text(method, 0), "bool [2 * batch (batch 1..5)]");
}

TEST(OutputTypeText, ShowsAQuestionMarkWhereOnlyTheRunDecides) {
  MethodSpec method;
  method.symbols = two_symbols();
  OutputSpec output = {"0", DType::kFloat32, {}, 0};
  output.shape = {Expression::create({kBatch}, method.symbols.size()).value(), std::nullopt};
  method.outputs = {output};
  EXPECT_EQ(output_type_text(method, 0), "float32 [batch, ?]");
}

TEST(ValueRangeText, LeavesOutASideWithoutALimit) {
  const std::vector<std::string> symbols = {"batch", "length"};
  ValueRange range;
  range.min = Expression::constant(0);
  EXPECT_EQ(value_range_text(range, symbols), "0 ..");
  range.max = Expression::create({kLength, number(-1), {Op::kAdd, 0}}, symbols.size()).value();
  range.reason = "indexes dimension 1 of 'cache'";
  EXPECT_EQ(value_range_text(range, symbols), "0 .. length - 1: indexes dimension 1 of 'cache'");
}

}  // namespace
}  // namespace polystate::cli
