#include "cli/line_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A pipe with a reader of lines at its end.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(ends_[1], bytes.data(), bytes.size());
      ASSERT_GT(count, 0);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

  [[nodiscard]] int reader() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

// The groups of all that a pipe with these bytes has.
std::vector<std::vector<std::string>> groups_of(std::string_view bytes, std::size_t limit,
                                                LineEnd end = LineEnd::kAny) {
  Pipe pipe;
  pipe.write(bytes);
  pipe.close_writer();
  LineReader reader(pipe.reader(), end);
  std::vector<std::vector<std::string>> groups;
  while (true) {
    groups.push_back(reader.next(limit).value());
    if (groups.back().empty()) return groups;
  }
}

TEST(LineReader, GivesWhatWasSentWithoutWaitingForMore) {
  const Pipe pipe;
  LineReader reader(pipe.reader());
  pipe.write("one\ntwo\nthr");
  EXPECT_THAT(reader.next(10).value(), ElementsAre("one", "two"));
  pipe.write("ee\n");
  EXPECT_THAT(reader.next(10).value(), ElementsAre("three"));
}

TEST(LineReader, WaitsForTheFirstLineOfAGroup) {
  Pipe pipe;
  LineReader reader(pipe.reader());
  pipe.write("be");
  std::thread writer([&] {
    ::usleep(20'000);
    pipe.write("gin");
    ::usleep(20'000);
    pipe.write("ning\n");
  });
  EXPECT_THAT(reader.next(10).value(), ElementsAre("beginning"));
  writer.join();
}

TEST(LineReader, GivesAtMostAsManyLinesAsAreAskedFor) {
  EXPECT_THAT(
      groups_of("a\nb\nc\nd\ne\n", 2),
      ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"), ElementsAre("e"), IsEmpty()));
  EXPECT_THAT(groups_of("a\nb", 2), ElementsAre(ElementsAre("a", "b"), IsEmpty()));
  EXPECT_THAT(groups_of("a\nb\n", 2), ElementsAre(ElementsAre("a", "b"), IsEmpty()));
}

TEST(LineReader, ALastLineNeedsNoEnd) {
  EXPECT_THAT(groups_of("a\nb", 9), ElementsAre(ElementsAre("a", "b"), IsEmpty()));
  EXPECT_THAT(groups_of("a\nb\n", 9), ElementsAre(ElementsAre("a", "b"), IsEmpty()));
  EXPECT_THAT(groups_of("a\nb\r", 9), ElementsAre(ElementsAre("a", "b"), IsEmpty()));
}

TEST(LineReader, NothingHasNoLine) { EXPECT_THAT(groups_of("", 9), ElementsAre(IsEmpty())); }

TEST(LineReader, BlankLinesAreLines) {
  EXPECT_THAT(groups_of("\n\na\n\n", 9), ElementsAre(ElementsAre("", "", "a", ""), IsEmpty()));
}

TEST(LineReader, TakesOneReturnBeforeTheEndAway) {
  EXPECT_THAT(groups_of("a\r\n\r\nb\r\r\nc\rd\n", 9),
              ElementsAre(ElementsAre("a", "", "b\r", "c\rd"), IsEmpty()));
}

TEST(LineReader, KeepsReturnsWhereOnlyALineFeedEndsALine) {
  EXPECT_THAT(groups_of("a\r\nb\r", 9, LineEnd::kLineFeed),
              ElementsAre(ElementsAre("a\r", "b\r"), IsEmpty()));
}

TEST(LineReader, TakesAByteOrderMarkAwayAtTheVeryBeginning) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const std::string mark(kMark);
  EXPECT_THAT(groups_of(mark + "a\n" + mark + "b\n", 9),
              ElementsAre(ElementsAre("a", mark + "b"), IsEmpty()));
  EXPECT_THAT(groups_of(mark + mark + "a", 9), ElementsAre(ElementsAre(mark + "a"), IsEmpty()));
  EXPECT_THAT(groups_of(mark, 9), ElementsAre(IsEmpty()));
  EXPECT_THAT(groups_of("\xEF\xBB", 9), ElementsAre(ElementsAre("\xEF\xBB"), IsEmpty()));
  EXPECT_THAT(groups_of("\n" + mark, 9), ElementsAre(ElementsAre("", mark), IsEmpty()));
  Pipe pipe;
  LineReader reader(pipe.reader());
  std::thread writer([&] {
    for (const char byte : mark + "/stats\n") {
      pipe.write({&byte, 1});
      ::usleep(2'000);
    }
    pipe.write("rest");
    pipe.close_writer();
  });
  EXPECT_THAT(reader.next(1).value(), ElementsAre("/stats"));
  EXPECT_EQ(reader.rest().value(), "rest");
  writer.join();
}

TEST(LineReader, GivesTheRestWithItsEnds) {
  Pipe pipe;
  pipe.write("a\nb\r\n\nc\r");
  pipe.close_writer();
  LineReader reader(pipe.reader());
  EXPECT_THAT(reader.next(1).value(), ElementsAre("a"));
  EXPECT_EQ(reader.rest().value(), "b\r\n\nc\r");
  EXPECT_EQ(reader.rest().value(), "");
  EXPECT_THAT(reader.next(1).value(), IsEmpty());
}

TEST(LineReader, BytesOfAnyKindAreKept) {
  const std::string line("a\0b", 3);
  EXPECT_THAT(groups_of(line + "\n\xff\xfe\n", 9),
              ElementsAre(ElementsAre(line, "\xff\xfe"), IsEmpty()));
}

TEST(LineReader, ALineMayBeLongerThanAnyBuffer) {
  Pipe pipe;
  LineReader reader(pipe.reader());
  const std::string line(1'000'000, 'x');
  std::thread writer([&] {
    pipe.write(line + "\nend\n");
    pipe.close_writer();
  });
  std::vector<std::string> lines;
  while (true) {
    const std::vector<std::string> group = reader.next(10).value();
    if (group.empty()) break;
    lines.insert(lines.end(), group.begin(), group.end());
  }
  writer.join();
  EXPECT_THAT(lines, ElementsAre(line, "end"));
}

TEST(LineReader, WhatCannotBeReadIsAnError) {
  const int directory = ::open("/", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(directory, 0);
  LineReader reader(directory);
  const Result<std::vector<std::string>> lines = reader.next(1);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, ErrorCode::kContract);
  EXPECT_EQ(lines.error().message, "the input cannot be read: Is a directory");
  ::close(directory);
}

}  // namespace
}  // namespace polystate::cli
