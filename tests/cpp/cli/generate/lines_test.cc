#include "cli/generate/lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <ios>
#include <string>

#include "temporary_folder.h"

namespace polystate::cli {
namespace {

std::string whole_text_of(const std::string& content) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text", std::ios::binary) << content;
  return whole_text((folder / "text").string()).value();
}

TEST(WholeText, HasNoEndOfItsLastLine) {
  EXPECT_EQ(whole_text_of(""), "");
  EXPECT_EQ(whole_text_of("a\r\nb"), "a\r\nb");
  EXPECT_EQ(whole_text_of("a\r\nb\n"), "a\r\nb");
  EXPECT_EQ(whole_text_of("a\r\nb\r\n"), "a\r\nb");
  EXPECT_EQ(whole_text_of("a\n\n"), "a\n");
}

TEST(WholeText, KeepsAReturnThatIsNoPartOfAnEnd) {
  EXPECT_EQ(whole_text_of("a\r"), "a\r");
  EXPECT_EQ(whole_text_of("a\n\r"), "a\n\r");
  EXPECT_EQ(whole_text_of("a\r\r\n"), "a\r");
}

}  // namespace
}  // namespace polystate::cli
