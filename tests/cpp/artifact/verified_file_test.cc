#include "artifact/verified_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <vector>

#include "core/file.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using testing::HasSubstr;

// Files of several sizes: those that are read while they are hashed, and smaller ones.
class CopyVerified : public testing::TestWithParam<std::size_t> {
 protected:
  CopyVerified() : content_(GetParam()) {
    std::uint32_t number = 1;
    std::ranges::generate(content_, [&] {
      number = number * 1'664'525U + 1'013'904'223U;
      return static_cast<std::byte>(number >> 24U);
    });
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(content_.data()),
               static_cast<std::streamsize>(content_.size()));
  }

  [[nodiscard]] InputFile open() const { return *InputFile::open(path_); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "weights";
  std::vector<std::byte> content_;
};

INSTANTIATE_TEST_SUITE_P(Sizes, CopyVerified,
                         testing::Values(1, 4096, 262'145, 4'194'304, 9'000'001));

TEST_P(CopyVerified, HasTheBytesOfTheFile) {
  const auto copy = copy_verified(open(), *sha256_of(content_));
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_TRUE(std::ranges::equal((*copy)->bytes(), content_));
}

TEST_P(CopyVerified, RefusesAnotherByte) {
  const Sha256 expected = *sha256_of(content_);
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(content_.size()) - 1);
  file.put(static_cast<char>(~content_.back()));
  file.close();
  const auto copy = copy_verified(open(), expected);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, ErrorCode::kArtifact);
  EXPECT_THAT(copy.error().message, HasSubstr("is damaged"));
}

TEST_P(CopyVerified, RefusesAFileThatBecomesShorter) {
  const InputFile file = open();
  std::filesystem::resize_file(path_, content_.size() / 2);
  const auto copy = copy_verified(file, *sha256_of(content_));
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace polystate
