#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

std::filesystem::path file_with(const TemporaryFolder& folder, const std::string& content) {
  const std::filesystem::path path = folder / "file";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(InputFile, ReadsAnyPartOfAFile) {
  const TemporaryFolder folder;
  const InputFile file = InputFile::open(file_with(folder, "polystate")).value();
  EXPECT_EQ(file.size(), 9);
  std::array<std::byte, 5> part{};
  ASSERT_TRUE(file.read_at(4, part));
  EXPECT_EQ(part[0], std::byte{'s'});
  EXPECT_EQ(part[4], std::byte{'e'});
}

TEST(InputFile, ReadingPastTheEndTellsWhereItIs) {
  const TemporaryFolder folder;
  const std::filesystem::path path = file_with(folder, "polystate");
  const InputFile file = InputFile::open(path).value();
  std::array<std::byte, 5> part{};
  const Status status = file.read_at(6, part);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(status.error().message, "'" + path.string() + "' ends after 9 bytes; 11 were expected");
}

TEST(InputFile, AMissingFileIsRefused) {
  const TemporaryFolder folder;
  const Result<InputFile> file = InputFile::open(folder / "nothing");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_EQ(file.error().message,
            "cannot open '" + (folder / "nothing").string() + "': No such file or directory");
}

TEST(InputFile, ADirectoryIsRefused) {
  const TemporaryFolder folder;
  const Result<InputFile> file = InputFile::open(folder.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "'" + folder.path().string() + "' is not a regular file");
}

TEST(InputFile, ANamedPipeIsRefusedWithoutWaiting) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const Result<InputFile> file = InputFile::open(folder / "pipe");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "'" + (folder / "pipe").string() + "' is not a regular file");
}

TEST(ReadFile, GivesAllBytesUpToTheLimit) {
  const TemporaryFolder folder;
  const InputFile file = InputFile::open(file_with(folder, "abc")).value();
  EXPECT_EQ(read_file(file, 3).value().size(), 3);
  const Result<std::vector<std::byte>> over = read_file(file, 2);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message, file.shown_name() + " has 3 bytes; the limit is 2");
}

TEST(ReadTextFile, GivesAllBytesUpToTheLimit) {
  const TemporaryFolder folder;
  const std::filesystem::path path = file_with(folder, std::string("a\0c", 3));
  EXPECT_EQ(read_text_file(path, 3).value(), std::string("a\0c", 3));
  const Result<std::string> over = read_text_file(path, 2);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message, "'" + path.string() + "' has 3 bytes; the limit is 2");
  EXPECT_EQ(read_text_file(folder / "nothing", 2).error().code, ErrorCode::kIo);
}

TEST(FileDescriptor, IsClosedOnceByItsLastOwner) {
  FileDescriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  {
    const FileDescriptor second = std::move(first);
    EXPECT_EQ(second.get(), number);
    EXPECT_NE(::fcntl(number, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace polystate
