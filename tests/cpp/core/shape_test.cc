#include "polystate/core/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "polystate/core/dtype.h"

namespace polystate {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(Shape, IsWrittenAsPyTorchWritesSizes) {
  EXPECT_EQ(to_string(Shape{7, 5}), "[7, 5]");
  EXPECT_EQ(to_string(Shape{-1}), "[-1]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, ElementsAreTheProductOfTheSizes) {
  EXPECT_EQ(element_count(DType::kFloat32, Shape{7, 5}), 35);
  EXPECT_EQ(element_count(DType::kFloat32, Shape{}), 1);
  EXPECT_EQ(element_count(DType::kFloat32, Shape{3, 0, 2}), 0);
}

TEST(Shape, ANegativeSizeHasNoCount) {
  EXPECT_EQ(element_count(DType::kUInt8, Shape{-1}), std::nullopt);
  EXPECT_EQ(element_count(DType::kUInt8, Shape{0, -1}), std::nullopt);
}

TEST(Shape, BytesMayFillSixtyThreeBitsButNotMore) {
  EXPECT_EQ(element_count(DType::kUInt8, Shape{kLargest}), kLargest);
  EXPECT_EQ(element_count(DType::kFloat64, Shape{kLargest / 8}), kLargest / 8);
  EXPECT_EQ(element_count(DType::kFloat64, Shape{kLargest / 8 + 1}), std::nullopt);
  EXPECT_EQ(element_count(DType::kUInt8, Shape{4294967296, 4294967296}), std::nullopt);
}

TEST(Shape, AZeroOutweighsSizesThatWouldOverflow) {
  EXPECT_EQ(element_count(DType::kFloat64, Shape{kLargest, kLargest, 0}), 0);
}

TEST(DType, NamesGoThereAndBack) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
  }
  EXPECT_EQ(name_of(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(dtype_named("float"), std::nullopt);
  EXPECT_EQ(dtype_named(""), std::nullopt);
}

TEST(Shape, APlaceIsWhereAnElementStandsInRowMajorOrder) {
  const Shape shape = {3, 2, 4};
  EXPECT_EQ(place_text(shape, 0), "[0, 0, 0]");
  EXPECT_EQ(place_text(shape, 7), "[0, 1, 3]");
  EXPECT_EQ(place_text(shape, 16), "[2, 0, 0]");
  EXPECT_EQ(place_text(Shape{}, 0), "[]");
}

TEST(DType, SizesAreThoseOfTheElements) {
  EXPECT_EQ(size_of(DType::kBool), 1);
  EXPECT_EQ(size_of(DType::kInt16), 2);
  EXPECT_EQ(size_of(DType::kBFloat16), 2);
  EXPECT_EQ(size_of(DType::kFloat32), 4);
  EXPECT_EQ(size_of(DType::kInt64), 8);
}

TEST(DType, BoolIsNoInteger) {
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_FALSE(is_integer(DType::kFloat16));
  EXPECT_TRUE(is_integer(DType::kUInt8));
  EXPECT_TRUE(is_integer(DType::kInt64));
}

}  // namespace
}  // namespace polystate
