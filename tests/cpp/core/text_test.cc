#include "core/text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace polystate
