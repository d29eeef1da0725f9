#include "cli/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <sstream>
#include <string>
#include <vector>

#include "cli/text.h"

namespace polystate::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Table, ColumnsAlign) {
  Table table(2);
  table.add_row({"a", "first", "x"});
  table.add_row({"long", "2", "y"});
  EXPECT_EQ(table.text(), "  a     first  x\n  long  2      y\n");
}

TEST(Table, ARightAlignedColumnEndsTogether) {
  Table table;
  table.add_row({"state", "800 B", "x"});
  table.add_row({"program", "1.5 KiB", ""});
  table.align_right(1);
  EXPECT_EQ(table.text(), "state      800 B  x\nprogram  1.5 KiB\n");
}

TEST(Table, WideCharactersCountTwoColumns) {
  ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  Table table;
  table.add_row({"长度", "x"});
  table.add_row({"abcd", "y"});
  EXPECT_EQ(table.text(), "长度  x\nabcd  y\n");
}

TEST(Table, LongCellsWrapInsideTheirColumn) {
  std::string reason;
  for (int i = 0; i < 40; ++i) reason += "word ";
  Table table(2);
  table.add_row({"updates", "cache", reason});
  table.add_row({"reads", "cache", ""});
  const std::vector<std::string> lines = lines_of(table.text());
  ASSERT_EQ(lines.size(), 4);
  for (const std::string& line : lines) EXPECT_LE(line.size(), kLineWidth);
  EXPECT_TRUE(lines[1].starts_with("                  word word")) << lines[1];
}

TEST(Table, AWordWiderThanItsColumnIsBroken) {
  Table table;
  table.add_row({std::string(250, 'a'), std::string(250, 'b')});
  std::string letters;
  for (const std::string& line : lines_of(table.text())) {
    EXPECT_LE(line.size(), kLineWidth);
    letters += line;
  }
  EXPECT_EQ(std::count(letters.begin(), letters.end(), 'a'), 250);
  EXPECT_EQ(std::count(letters.begin(), letters.end(), 'b'), 250);
}

TEST(Table, NoCellCanBreakItsRow) {
  Table table;
  table.add_row({"a\nb\x1b[2J", "c"});
  EXPECT_EQ(table.text(), "a\\x0ab\\x1b[2J  c\n");
}

TEST(Table, WithoutRowsThereIsNoText) {
  EXPECT_TRUE(Table().empty());
  EXPECT_EQ(Table().text(), "");
}

}  // namespace
}  // namespace polystate::cli
