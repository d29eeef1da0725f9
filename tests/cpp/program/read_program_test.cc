#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "program/data_flow.h"
#include "program/fixture_program.h"
#include "program/operator_counts.h"
#include "program/program.h"
#include "program/weights.h"

namespace polystate::program {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

TEST(ReadProgram, MethodsHaveTheirInputsAndOutputs) {
  const FixtureProgram counter("counter");
  const Method& add = counter.method("add");
  ASSERT_EQ(add.inputs.size(), 1);
  EXPECT_EQ(value_text(add, add.inputs[0]), "float32 [4]");
  EXPECT_FALSE(add.outputs.empty());
  EXPECT_EQ(find_method(counter.program(), "none").error().code, ErrorCode::kContract);
  EXPECT_THAT(find_method(counter.program(), "none").error().message, HasSubstr("plus_one"));
}

TEST(ReadProgram, StatesHaveTheirNamesAndPlaces) {
  const FixtureProgram counter("counter");
  const Method& add = counter.method("add");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < add.values.size(); ++i) {
    const Tensor* const tensor = tensor_of(add, i);
    if (tensor != nullptr && is_state(*tensor)) names.push_back(tensor->name);
  }
  EXPECT_THAT(names, Contains("count"));
  EXPECT_THAT(names, Contains("total"));
}

TEST(ReadProgram, SizesThatVaryAreTheLargest) {
  const FixtureProgram cache("cache");
  const Method& fill = cache.method("fill");
  EXPECT_EQ(value_text(fill, fill.inputs[0]), "float32 up to [3, 5]");
}

TEST(ReadProgram, OperatorsAreCounted) {
  const FixtureProgram counter("counter");
  EXPECT_THAT(operator_counts(counter.method("plus_one")), Contains(Key("aten::add.out")));
  EXPECT_THAT(operator_counts(counter.method("plus_one")), Not(Contains(Key("aten::mul.out"))));
}

TEST(ReadProgram, WeightsHaveTheirBytesAndTheMethodsThatUseThem) {
  const FixtureProgram layered("layered");
  const std::vector<Weight> weights = weights_of(layered.program());
  ASSERT_FALSE(weights.empty());
  for (const Weight& weight : weights) EXPECT_FALSE(weight.bytes.empty()) << weight.type;
}

TEST(ReadProgram, AnotherFileIsNoProgram) {
  const std::string text = "This is no program of ExecuTorch at all.";
  const Result<Program> program = read_program(std::as_bytes(std::span(text)));
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, ErrorCode::kArtifact);
  EXPECT_FALSE(read_program({}).has_value());
}

TEST(ReadProgram, ValuesAreWrittenAsPeopleReadThem) {
  Method method;
  method.values = {Value{std::int64_t{3}},
                   Value{true},
                   Value{0.5},
                   Value{std::string("a")},
                   Value{},
                   Value{IndexList{.items = {0, std::nullopt, 6}}},
                   Value{IndexList{.items = {6}}},
                   Value{NumberList{.items = {1, 0.25}}},
                   Value{BoolList{.items = {true, false}}}};
  std::vector<std::string> texts;
  texts.reserve(method.values.size());
  for (std::size_t i = 0; i < method.values.size(); ++i) texts.push_back(value_text(method, i));
  EXPECT_THAT(texts, ElementsAre("3", "true", "0.5", "\"a\"", "none", "[3, none, [...]]", "[[...]]",
                                 "[1, 0.25]", "[true, false]"));
}

}  // namespace
}  // namespace polystate::program
