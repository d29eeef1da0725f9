// Which files and folders open, and what is said of those that do not.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWordLevel =
    R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})";

class Open : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("open_test_" + std::string(test->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(std::string_view name, std::string_view content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  static std::string content_of(std::string_view sample) {
    for (const SampleFile& file : sample_files()) {
      if (file.name == sample) return file.content;
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(Open, AMissingPathIsAnIoErrorThatNamesIt) {
  const auto tokenizer = Tokenizer::open(folder_ / "none");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kIo);
  EXPECT_NE(tokenizer.error().message.find((folder_ / "none").string()), std::string::npos);
}

TEST_F(Open, AFolderWithoutATokenizerIsAnIoErrorThatSaysWhatWouldDo) {
  const auto tokenizer = Tokenizer::open(folder_);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kIo);
  EXPECT_NE(tokenizer.error().message.find("tokenizer.json"), std::string::npos);
}

TEST_F(Open, AFileIsKnownByItsContent) {
  EXPECT_EQ(Tokenizer::open(write("a", kWordLevel)).value()->vocabulary_size(), 2);
  EXPECT_GT(Tokenizer::open(write("b", content_of("SentencePieceBpe"))).value()->vocabulary_size(),
            256);
  const TikTokenOptions tik_token = {"[a-z]+", {}};
  EXPECT_EQ(Tokenizer::open(write("c", content_of("TikToken")), {.tik_token = tik_token})
                .value()
                ->vocabulary_size(),
            261);
}

TEST_F(Open, OfAFolderTokenizerJsonIsTakenBeforeTheOthers) {
  write("tokenizer.model", content_of("SentencePieceBpe"));
  EXPECT_GT(Tokenizer::open(folder_).value()->vocabulary_size(), 256);
  write("tokenizer.json", kWordLevel);
  EXPECT_EQ(Tokenizer::open(folder_).value()->vocabulary_size(), 2);
}

TEST_F(Open, ATikTokenFileOfAnUnknownNameNeedsItsOptions) {
  const auto tokenizer = Tokenizer::open(write("my_own.tiktoken", content_of("TikToken")));
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kContract);
  EXPECT_NE(tokenizer.error().message.find("'my_own'"), std::string::npos);
}

TEST_F(Open, ADamagedFileIsNamed) {
  const fs::path path = write("tokenizer.json", "{");
  const auto tokenizer = Tokenizer::open(folder_);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kArtifact);
  EXPECT_TRUE(tokenizer.error().message.starts_with(path.string() + ": "));
}

}  // namespace
}  // namespace polystate
