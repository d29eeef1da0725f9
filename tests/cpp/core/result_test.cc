#include "polystate/core/result.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace polystate {
namespace {

Result<std::string> failed() { return Error{ErrorCode::kIo, "'/nonexistent' is not there"}; }

TEST(Result, HoldsAValueOrAnError) {
  Result<std::string> result = std::string("word");
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, "word");
  EXPECT_EQ(result->size(), 4U);
  EXPECT_EQ(std::move(result).value(), "word");
  EXPECT_FALSE(failed());
  EXPECT_EQ(failed().error().code, ErrorCode::kIo);
}

TEST(ResultDeathTest, EndsTheProgramWithItsErrorWhereAMissingValueIsUsed) {
  Result<std::string> mutable_one = failed();
  const Result<std::string> constant = failed();
  const std::string message = "failed Result was used, whose error is: '/nonexistent' is not there";
  EXPECT_DEATH(mutable_one.value().clear(), message);
  EXPECT_DEATH(mutable_one->clear(), message);
  EXPECT_DEATH(static_cast<void>(constant->size()), message);
  EXPECT_DEATH(static_cast<void>((*constant).size()), message);
  EXPECT_DEATH(static_cast<void>(*failed()), message);
}

TEST(ResultDeathTest, EndsTheProgramWhereAMissingErrorIsUsed) {
  const Result<int> result = 3;
  EXPECT_DEATH(static_cast<void>(result.error()), "has none");
  EXPECT_DEATH(static_cast<void>(Status().error()), "has none");
}

}  // namespace
}  // namespace polystate
