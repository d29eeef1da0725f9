#include "core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace polystate {
namespace {

constexpr std::uint32_t kPatterns = 1U << 16U;

TEST(Half, EveryFloat16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const float value = float16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(value)))) << bits;
    } else {
      ASSERT_EQ(float_to_float16(value), bits);
    }
  }
}

TEST(Half, EveryBFloat16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const float value = bfloat16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value)))) << bits;
    } else {
      ASSERT_EQ(float_to_bfloat16(value), bits);
    }
  }
}

TEST(Half, Float16ValuesAreThoseOfTheStandard) {
  EXPECT_EQ(float16_to_float(0x3C00), 1.0F);
  EXPECT_EQ(float16_to_float(0xC000), -2.0F);
  EXPECT_EQ(float16_to_float(0x7BFF), 65504.0F);
  EXPECT_EQ(float16_to_float(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(float16_to_float(0x7C00), std::numeric_limits<float>::infinity());
}

TEST(Half, FloatsBetweenTwoFloat16RoundToTheNearestAndTiesToEven) {
  EXPECT_EQ(float_to_float16(1.0F + 0x1p-11F), 0x3C00);      // halfway: the even one is below
  EXPECT_EQ(float_to_float16(1.0F + 3 * 0x1p-11F), 0x3C02);  // halfway: the even one is above
  EXPECT_EQ(float_to_float16(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);  // past halfway
  EXPECT_EQ(float_to_float16(0x1p-25F), 0x0000);
  EXPECT_EQ(float_to_float16(0x1.8p-25F), 0x0001);
}

TEST(Half, FloatsPastTheLargestFloat16BecomeInfinite) {
  EXPECT_EQ(float_to_float16(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_float16(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_float16(-1e30F), 0xFC00);
}

TEST(Half, FloatsBetweenTwoBFloat16RoundToTheNearestAndTiesToEven) {
  EXPECT_EQ(float_to_bfloat16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(1.0F + 3 * 0x1p-8F), 0x3F82);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace polystate
