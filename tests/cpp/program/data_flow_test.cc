#include "program/data_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/operator_schema.h"
#include "kernels/operators.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Kind = Instruction::Kind;

Value tensor(std::optional<Place> place = std::nullopt) {
  return Tensor{.dtype = "float32", .sizes = {2}, .place = place, .bytes = 8};
}
Value state(std::uint64_t offset) { return tensor(Place{.arena = kState, .offset = offset}); }

// A method with one instruction.
Uses uses_of_one(std::vector<Value> values, std::vector<std::size_t> inputs,
                 const std::string& operator_name, std::vector<std::size_t> arguments) {
  Method method{.name = "m", .values = std::move(values), .inputs = std::move(inputs)};
  method.operators = {operator_name};
  method.instructions = {{Kind::kKernel, 0, std::move(arguments)}};
  return uses_of(method).front();
}

TEST(DataFlow, AKernelWritesWhatItReturns) {
  const Uses uses =
      uses_of_one({tensor(), tensor(), tensor()}, {0, 1}, "aten::add.out", {0, 1, 2, 2});
  EXPECT_THAT(uses.reads, ElementsAre(0, 1));
  EXPECT_THAT(uses.writes, ElementsAre(2));
}

TEST(DataFlow, AKernelThatChangesAnArgumentReadsItToo) {
  const Uses uses = uses_of_one({state(0), tensor()}, {1}, "polystate::index_put_", {0, 1, 0});
  EXPECT_THAT(uses.reads, ElementsAre(0, 1));
  EXPECT_THAT(uses.writes, ElementsAre(0));
}

TEST(DataFlow, AStateThatIsOnlyOverwrittenIsNotRead) {
  const Uses copied =
      uses_of_one({state(0), tensor(), Value{false}}, {1}, "aten::copy_", {0, 1, 2, 0});
  EXPECT_THAT(copied.reads, ElementsAre(1, 2));
  EXPECT_THAT(copied.writes, ElementsAre(0));
  const Uses added = uses_of_one({state(0), tensor()}, {1}, "aten::add.out", {0, 1, 0, 0});
  EXPECT_THAT(added.reads, ElementsAre(0, 1));
  EXPECT_THAT(added.writes, ElementsAre(0));
}

TEST(DataFlow, SeveralResultsComeAsAList) {
  const Uses uses = uses_of_one({tensor(), tensor(), tensor(), IndexList{.items = {1, 2}}}, {0},
                                "aten::max.dim_max_out", {0, 1, 2, 3});
  EXPECT_THAT(uses.reads, ElementsAre(0));
  EXPECT_THAT(uses.writes, ElementsAre(1, 2));
}

TEST(DataFlow, ElementsOfListsAreRead) {
  const Uses uses = uses_of_one({tensor(), tensor(), IndexList{.items = {0, 1, std::nullopt}},
                                 Value{std::int64_t{0}}, tensor()},
                                {0, 1}, "aten::cat.out", {2, 3, 4, 4});
  EXPECT_THAT(uses.reads, ElementsAre(0, 1, 3));
  EXPECT_THAT(uses.writes, ElementsAre(4));
}

TEST(DataFlow, ANumberIsWrittenByWhatComputesNumbers) {
  const std::vector<Value> values = {tensor(), Value{std::int64_t{0}}, Value{std::int64_t{0}}};
  const Uses size = uses_of_one(values, {0}, "aten::sym_size.int", {0, 1, 2});
  EXPECT_THAT(size.writes, ElementsAre(2));
  const Uses check = uses_of_one(values, {0}, "polystate::check", {0, 1, 2});
  EXPECT_THAT(check.writes, IsEmpty());
  EXPECT_THAT(check.reads, ElementsAre(0, 1, 2));
}

TEST(DataFlow, AViewOfAStateIsTheState) {
  Method method;
  method.values = {state(0), state(64), state(0), tensor()};
  EXPECT_THAT(state_values(method), ElementsAre(0, 1, 0, 3));
}

TEST(DataFlow, ADelegateWritesWhatHasNoValueYet) {
  Method method{.values = {tensor(), tensor(), tensor()}, .inputs = {0}};
  method.delegates = {{.backend = "XnnpackBackend"}};
  method.instructions = {{Kind::kDelegate, 0, {0, 1}}, {Kind::kDelegate, 0, {1, 2}}};
  const std::vector<Uses> uses = uses_of(method);
  EXPECT_THAT(uses[0].writes, ElementsAre(1));
  EXPECT_THAT(uses[1].reads, ElementsAre(1));
  EXPECT_THAT(uses[1].writes, ElementsAre(2));
}

TEST(DataFlow, MovesAndJumpsAreInstructionsToo) {
  Method method{.values = {tensor(), tensor(), Value{true}}, .inputs = {0}};
  method.instructions = {{Kind::kJump, 2, {2}}, {Kind::kMove, 0, {0, 1}}, {Kind::kFree, 0, {0}}};
  const std::vector<Uses> uses = uses_of(method);
  EXPECT_THAT(uses[0].reads, ElementsAre(2));
  EXPECT_THAT(uses[1].reads, ElementsAre(0));
  EXPECT_THAT(uses[1].writes, ElementsAre(1));
  EXPECT_THAT(uses[2].reads, IsEmpty());
}

// Every operator of ours whose schema says that it changes an argument that it does not return.
TEST(DataFlow, OperatorsThatChangeStatesAreKnown) {
  for (const OperatorSchema& schema :
       {PagedAttention::kSchema, WritePages::kSchema, CopyPages::kSchema, LayerNorm::kSchema,
        CrossAttention::kSchema, PackedLinear::kSchema}) {
    const std::string name(schema.name());
    // What stands before the results.
    const std::string_view given = schema.text().substr(0, schema.text().find("*, "));
    const bool changes_others = given.find("!)") != std::string_view::npos;
    const Uses uses =
        uses_of_one({tensor(), state(0), state(64), tensor()}, {0}, name, {0, 1, 2, 3, 3});
    if (changes_others) {
      EXPECT_THAT(uses.writes, UnorderedElementsAre(1, 2, 3)) << name;
    } else {
      EXPECT_THAT(uses.writes, ElementsAre(3)) << name;
    }
    EXPECT_THAT(uses.reads, ElementsAre(0, 1, 2)) << name;
  }
}

TEST(DataFlow, OperatorsThatOnlyCopyAreToldByTheirNames) {
  for (const char* const name : {"aten::permute_copy.out", "aten::clone.out", "aten::copy_",
                                 "aten::_to_copy.out", "dim_order_ops::_to_dim_order_copy.out"})
    EXPECT_TRUE(only_copies(name)) << name;
  for (const char* const name : {"aten::add.out", "polystate::index_copy_"})
    EXPECT_FALSE(only_copies(name)) << name;
}

}  // namespace
}  // namespace polystate::program
