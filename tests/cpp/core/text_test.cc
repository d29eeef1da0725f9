#include "core/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace polystate {
namespace {

TEST(Text, ANounHasAnSUnlessThereIsOne) {
  EXPECT_EQ(count_text(0, "file"), "0 files");
  EXPECT_EQ(count_text(1, "file"), "1 file");
  EXPECT_EQ(count_text(2, "file"), "2 files");
}

TEST(Text, ASourceFollowsWhereItIsKnown) {
  EXPECT_EQ(with_source("n > 0", "model.py:12"), "n > 0 (model.py:12)");
  EXPECT_EQ(with_source("n > 0", ""), "n > 0");
}

TEST(Text, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(0.1F), "0.1");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_text(-std::numeric_limits<float>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace polystate
