#include "core/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "core/bytes_of.h"
#include "core/file.h"
#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::ptrdiff_t files_in(const TemporaryFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  AtomicFile file = AtomicFile::create(folder / "state").value();
  ASSERT_TRUE(file.write(bytes_of("new ")));
  ASSERT_TRUE(file.write(bytes_of("content")));
  EXPECT_FALSE(std::filesystem::exists(folder / "state"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(content_of(folder / "state"), "new content");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, ReplacesTheOldFileWhole) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "state", bytes_of("a long old content")));
  ASSERT_TRUE(write_file(folder / "state", bytes_of("new")));
  EXPECT_EQ(content_of(folder / "state"), "new");
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777U;
}

TEST(AtomicFile, KeepsTheModeOfTheFileThatItReplaces) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0600U, 0640U, 0666U, 0755U}) {
    ASSERT_TRUE(write_file(folder / "state", bytes_of("old")));
    ASSERT_EQ(::chmod((folder / "state").c_str(), mode), 0);
    ASSERT_TRUE(write_file(folder / "state", bytes_of("new")));
    EXPECT_EQ(mode_of(folder / "state"), mode);
  }
}

TEST(AtomicFile, IsPrivateWhileItReplacesAPrivateFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "state", bytes_of("old")));
  ASSERT_EQ(::chmod((folder / "state").c_str(), 0600), 0);
  AtomicFile file = AtomicFile::create(folder / "state").value();
  ASSERT_TRUE(file.write(bytes_of("secret")));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
  }
}

TEST(AtomicFile, ANewFileHasTheModeThatTheProcessGives) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  EXPECT_TRUE(write_file(folder / "state", bytes_of("new")));
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "state"), 0640U);
}

TEST(AtomicFile, ASymbolicLinkIsFollowedAndStays) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "store");
  ASSERT_TRUE(write_file(folder / "store/state", bytes_of("old")));
  ASSERT_EQ(::chmod((folder / "store/state").c_str(), 0600), 0);
  std::filesystem::create_symlink("store/state", folder / "relative");
  std::filesystem::create_symlink(folder / "relative", folder / "absolute");
  ASSERT_TRUE(write_file(folder / "absolute", bytes_of("new")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "absolute"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "relative"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "store/state"));
  EXPECT_EQ(content_of(folder / "store/state"), "new");
  EXPECT_EQ(mode_of(folder / "store/state"), 0600U);
}

TEST(AtomicFile, ASymbolicLinkToNothingYetGetsItsFile) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("target", folder / "link");
  ASSERT_TRUE(write_file(folder / "link", bytes_of("new")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content_of(folder / "target"), "new");
}

TEST(AtomicFile, ALoopOfSymbolicLinksIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("second", folder / "first");
  std::filesystem::create_symlink("first", folder / "second");
  const Status status = write_file(folder / "first", bytes_of("new"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot write '" + (folder / "first").string() +
                                        "': Too many levels of symbolic links");
  EXPECT_EQ(files_in(folder), 2);
}

TEST(AtomicFile, WithoutACommitNothingRemains) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "state", bytes_of("old")));
  {
    AtomicFile file = AtomicFile::create(folder / "state").value();
    ASSERT_TRUE(file.write(bytes_of("half")));
  }
  EXPECT_EQ(content_of(folder / "state"), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, AMovedFileIsCommittedOnce) {
  const TemporaryFolder folder;
  AtomicFile first = AtomicFile::create(folder / "state").value();
  {
    AtomicFile second = std::move(first);
    ASSERT_TRUE(second.write(bytes_of("content")));
    ASSERT_TRUE(second.commit());
  }
  EXPECT_EQ(content_of(folder / "state"), "content");
}

// As if nobody had written to it for more than an hour.
void make_old(const std::filesystem::path& path) {
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path, now - std::chrono::minutes(61));
}

TEST(AtomicFile, WhatAKilledWriterLeftIsRemovedByTheNextAfterAnHour) {
  const TemporaryFolder folder;
  const pid_t writer = ::fork();
  if (writer == 0) {
    const auto file = AtomicFile::create(folder / "state");
    (void)::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_EQ(files_in(folder), 1);
  const std::filesystem::path left = std::filesystem::directory_iterator(folder.path())->path();
  ASSERT_TRUE(write_file(folder / "other", bytes_of("content")));
  EXPECT_TRUE(std::filesystem::exists(left)) << "another machine may be at it";
  make_old(left);
  ASSERT_TRUE(write_file(folder / "other", bytes_of("new content")));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(files_in(folder), 1);
  EXPECT_EQ(content_of(folder / "other"), "new content");
}

TEST(AtomicFile, WhatOthersWriteOrNamedAlikeStays) {
  const TemporaryFolder folder;
  AtomicFile file = AtomicFile::create(folder / "first").value();
  ASSERT_TRUE(file.write(bytes_of("first")));
  std::ofstream(folder / ".polystate.notes.tmp") << "a user's";
  std::ofstream(folder / ".polystate.0123456789ABCDEF.tmp") << "a user's";
  std::filesystem::create_directory(folder / ".polystate.0123456789abcdef.tmp");
  const std::filesystem::path pipe = folder / ".polystate.fedcba9876543210.tmp";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.is_open()) << "so that writers can open it";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    make_old(entry.path());
  }
  ASSERT_TRUE(write_file(folder / "second", bytes_of("second")));
  EXPECT_EQ(files_in(folder), 6);
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(content_of(folder / "first"), "first");
}

// While it lives, this process has no more rights than anybody, even where root runs the tests.
class Nobody {
 public:
  static constexpr uid_t kId = 65534;

  Nobody() : before_(::geteuid()) {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(kId), 0);
    }
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
  ~Nobody() {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(before_), 0);
    }
  }

 private:
  uid_t before_;
};

TEST(AtomicFile, AFolderThatMayBeWrittenAndNotReadGetsTheFile) {
  const TemporaryFolder folder;
  if (::geteuid() == 0 && ::chown(folder.path().c_str(), Nobody::kId, ::getegid()) != 0) {
    GTEST_SKIP() << "root may give no folder away here";
  }
  {
    const Nobody nobody;
    std::error_code why;
    if (!std::filesystem::exists(folder.path(), why)) {
      GTEST_SKIP() << "nobody may search the folders above: " << why.message();
    }
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0300), 0);
  Status status;
  {
    const Nobody nobody;
    status = write_file(folder / "state", bytes_of("content"));
  }
  EXPECT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(content_of(folder / "state"), "content");
}

TEST(AtomicFile, PathsThatAreWrittenToOneFileAreKnown) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "store");
  std::filesystem::create_symlink("store/state", folder / "link");
  std::filesystem::create_symlink("link", folder / "link_of_a_link");
  EXPECT_TRUE(are_one_file(folder / "link", folder / "store/state")) << "which does not exist";
  EXPECT_TRUE(are_one_file(folder / "link_of_a_link", folder / "store/../store/state"));
  EXPECT_FALSE(are_one_file(folder / "link", folder / "state"));
  ASSERT_TRUE(write_file(folder / "link", bytes_of("content")));
  EXPECT_TRUE(are_one_file(folder / "link_of_a_link", folder / "store/state"));
  EXPECT_FALSE(are_one_file(folder / "link", folder / "store"));
}

TEST(AtomicFile, AFolderThatIsMissingIsRefused) {
  const TemporaryFolder folder;
  const Status status = write_file(folder / "missing/state", bytes_of("content"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(status.error().message, "cannot write '" + (folder / "missing/state").string() +
                                        "': No such file or directory");
}

void expect_not_replaced(const std::filesystem::path& path) {
  const Status status = write_file(path, bytes_of("content"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "cannot write '" + path.string() + "': it exists and is not a regular file");
}

TEST(AtomicFile, APathThatIsNoRegularFileIsNotReplaced) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_not_replaced(folder.path());
  expect_not_replaced(folder / "pipe");
  expect_not_replaced("/dev/null");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, APathWithoutANameIsRefused) {
  const TemporaryFolder folder;
  EXPECT_FALSE(write_file(folder.path() / "", bytes_of("content")));
  EXPECT_FALSE(write_file("", bytes_of("content")));
}

// While it lives, no file of this process may grow beyond `bytes`: writes fail half-way, as on a
// full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(AtomicFile, AWriteThatFailsLeavesTheOldFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "state", bytes_of("old")));
  Status status;
  {
    const FileSizeLimit limit(1000);
    status = write_file(folder / "state", bytes_of(std::string(5000, 'x')));
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "cannot write '" + (folder / "state").string() + "': File too large");
  EXPECT_EQ(content_of(folder / "state"), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, ABareNameIsWrittenInTheCurrentFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_TRUE(write_file("state", bytes_of("content")));
  std::filesystem::current_path(before);
  EXPECT_EQ(content_of(folder / "state"), "content");
}

}  // namespace
}  // namespace polystate
