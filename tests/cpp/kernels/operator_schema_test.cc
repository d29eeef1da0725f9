#include "kernels/operator_schema.h"

#include <gtest/gtest.h>

namespace polystate {
namespace {

TEST(OperatorSchema, HasTheNameAndTheTypesOfAllArguments) {
  constexpr OperatorSchema kSchema(
      "ours::scale.out(Tensor(a!) x, Tensor?[] others, float by=1.5, str how=\"none\", *, "
      "Tensor(z!) out) -> Tensor(z!)");
  EXPECT_EQ(kSchema.name(), "ours::scale.out");
  EXPECT_EQ(kSchema.argument_count(), 5);
  EXPECT_EQ(kSchema.type_of(0), "Tensor");
  EXPECT_EQ(kSchema.type_of(1), "Tensor?[]");
  EXPECT_EQ(kSchema.type_of(2), "float");
  EXPECT_EQ(kSchema.type_of(3), "str");
  EXPECT_EQ(kSchema.type_of(4), "Tensor");
  EXPECT_EQ(kSchema.type_of(5), "");
}

TEST(OperatorSchema, MayHaveNoArguments) {
  constexpr OperatorSchema kSchema("ours::now() -> int");
  EXPECT_EQ(kSchema.name(), "ours::now");
  EXPECT_EQ(kSchema.argument_count(), 0);
}

}  // namespace
}  // namespace polystate
