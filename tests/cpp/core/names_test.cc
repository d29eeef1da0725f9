#include "core/names.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace polystate {
namespace {

TEST(Names, IdentifiersArePythons) {
  for (const std::string_view name : {"a", "_", "decode_2", "état", "状態"}) {
    EXPECT_TRUE(is_identifier(name)) << name;
  }
  for (const std::string_view name :
       {"", "2a", "a b", "a.b", "a-b", "a\n", "a\u202eb", "a\u0085"}) {
    EXPECT_FALSE(is_identifier(name)) << name;
  }
}

TEST(Names, HaveALimitOfBytes) {
  EXPECT_TRUE(is_identifier(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_identifier(std::string(kLongestName + 1, 'a')));
  EXPECT_TRUE(is_dotted_name(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_dotted_name(std::string(kLongestName + 1, 'a')));
  EXPECT_TRUE(is_file_name(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_file_name(std::string(kLongestName + 1, 'a')));
}

TEST(Names, DottedNamesHaveNoEmptyPart) {
  for (const std::string_view name : {"a", "0", "decoder.layers.0.keys", "heads.en-fr.cache"}) {
    EXPECT_TRUE(is_dotted_name(name)) << name;
  }
  for (const std::string_view name : {"", ".", "a.", ".a", "a..b", "a b", "a/b", "../a"}) {
    EXPECT_FALSE(is_dotted_name(name)) << name;
  }
}

TEST(Names, FileNamesCannotLeaveTheFolder) {
  for (const std::string_view name : {"model.pte", "a", "A-1_b.c.d"})
    EXPECT_TRUE(is_file_name(name)) << name;
  for (const std::string_view name :
       {"", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a b", "é", "a\n"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
}

}  // namespace
}  // namespace polystate
