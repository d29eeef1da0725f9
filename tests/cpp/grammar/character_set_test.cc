#include "grammar/character_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polystate::grammar {
namespace {

using testing::ElementsAre;
using Range = CharacterSet::Range;

TEST(CharacterSet, JoinsRangesThatTouch) {
  const CharacterSet set = {{'b', 'd'}, {'a', 'a'}, {'c', 'f'}, {'x', 'x'}};
  EXPECT_THAT(set.ranges(), ElementsAre(Range{'a', 'f'}, Range{'x', 'x'}));
  EXPECT_TRUE(set.contains('e'));
  EXPECT_FALSE(set.contains('g'));
}

TEST(CharacterSet, HasNoSurrogates) {
  EXPECT_THAT(CharacterSet::all().ranges(),
              ElementsAre(Range{0, 0xD7FF}, Range{0xE000, CharacterSet::kLast}));
  EXPECT_TRUE(CharacterSet::all().others().empty());
  EXPECT_EQ(CharacterSet().others(), CharacterSet::all());
  EXPECT_TRUE((CharacterSet{{0xD800, 0xDFFF}}).empty());
}

TEST(CharacterSet, LeavesOthersOut) {
  const CharacterSet letters = {{'a', 'z'}};
  EXPECT_THAT(letters.without({{'b', 'b'}, {'y', 'z'}}).ranges(),
              ElementsAre(Range{'a', 'a'}, Range{'c', 'x'}));
  EXPECT_EQ(letters.others().others(), letters);
  EXPECT_TRUE(letters.without(CharacterSet::all()).empty());
}

}  // namespace
}  // namespace polystate::grammar
