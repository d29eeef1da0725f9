#include "session/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "session/fake_engine.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using ::testing::HasSubstr;

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A session whose state was saved, and then became something else.
class SavedSession : public ::testing::Test {
 protected:
  SavedSession() {
    EXPECT_TRUE(session.write_state("cache", Tensor::of<float>({3}, {1, 2, 3}).value()));
    EXPECT_TRUE(session.save(path));
    EXPECT_TRUE(session.write_state("cache", Tensor::of<float>({3}, {9, 9, 9}).value()));
  }

  float first_of_cache() { return session.read_state("cache").value().values<float>()[0]; }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "session";
  Model model = fake_model(std::make_shared<FakeScript>());
  Session session = model.new_session().value();
};

TEST_F(SavedSession, IsLoadedIntoAnySessionOfItsModel) {
  ASSERT_TRUE(session.load(path));
  EXPECT_EQ(first_of_cache(), 1);
  Session second = model.new_session().value();
  ASSERT_TRUE(second.load(path));
  EXPECT_EQ(second.read_state("cache").value().values<float>()[2], 3);
  EXPECT_EQ(second.read_state("count").value().values<std::int64_t>()[0], 7);
}

TEST_F(SavedSession, IsRefusedTruncatedAtAnyByte) {
  const std::string whole = read_text(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(path, whole.substr(0, size));
    const Status refused = session.load(path);
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().code, ErrorCode::kArtifact) << size << refused.error().message;
    EXPECT_EQ(first_of_cache(), 9);
  }
  write_text(path, whole + "x");
  EXPECT_EQ(session.load(path).error().code, ErrorCode::kArtifact);
}

TEST_F(SavedSession, IsRefusedWithAnyBitFlipped) {
  const std::string whole = read_text(path);
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string damaged = whole;
    damaged[i / 8] =
        static_cast<char>(static_cast<unsigned char>(damaged[i / 8]) ^ (1U << (i % 8)));
    write_text(path, damaged);
    const Status refused = session.load(path);
    ASSERT_FALSE(refused) << "bit " << i;
    // A version 1 with any bit set but its lowest is a greater one.
    const bool is_newer = i / 8 >= 8 && i / 8 < 12 && i != 64;
    EXPECT_EQ(refused.error().code, is_newer ? ErrorCode::kUnsupported : ErrorCode::kArtifact)
        << i << refused.error().message;
  }
  EXPECT_EQ(first_of_cache(), 9);
}

TEST_F(SavedSession, OfAModelThatDiffersInTheWeightsOnlyIsRefused) {
  const Model other = fake_model(std::make_shared<FakeScript>(), 'v');
  EXPECT_EQ(other.artifact().manifest_text(), model.artifact().manifest_text());
  Session stranger = other.new_session().value();
  ASSERT_TRUE(stranger.save(path));
  const Status refused = session.load(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_THAT(refused.error().message,
              HasSubstr("is of another model: its artifact's SHA-256 is " +
                        to_hex(other.artifact().digest()) + ", this one's is " +
                        to_hex(model.artifact().digest())));
  EXPECT_EQ(first_of_cache(), 9);
}

TEST_F(SavedSession, OfAnotherModelAndSizeIsRefusedForTheModel) {
  const std::vector<std::byte> bytes(1000);
  const std::vector<std::span<const std::byte>> states = {bytes};
  ASSERT_TRUE(write_state_file(path, Sha256{}, states));
  EXPECT_EQ(session.load(path).error().code, ErrorCode::kContract);
  ASSERT_TRUE(write_state_file(path, model.artifact().digest(), states));
  EXPECT_THAT(session.load(path).error().message,
              HasSubstr("has 1000 bytes of state, the model 20"));
}

TEST_F(SavedSession, OfANewerVersionIsUnsupportedWhateverFollows) {
  const std::string expected =
      ": has version 2, made by a newer polystate: this one reads version 1";
  std::string newer = read_text(path);
  newer[8] = 2;
  for (const std::string& text : {newer, newer.substr(0, 12), newer + "more"}) {
    write_text(path, text);
    const Status refused = session.load(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, HasSubstr(expected));
  }
  EXPECT_EQ(first_of_cache(), 9);
}

TEST_F(SavedSession, ThatIsSomeOtherFileIsSaidToBeOne) {
  write_text(path, std::string(500, 'x'));
  EXPECT_THAT(session.load(path).error().message, HasSubstr("is no saved session"));
}

TEST_F(SavedSession, ThatIsMissingIsAnInputError) {
  EXPECT_EQ(session.load(folder / "nothing").error().code, ErrorCode::kIo);
  EXPECT_EQ(session.load(folder.path()).error().code, ErrorCode::kIo);
}

TEST_F(SavedSession, IsReplacedAsAWholeOrNotAtAll) {
  const std::string before = read_text(path);
  EXPECT_EQ(session.save(folder / "no" / "such" / "folder").error().code, ErrorCode::kIo);
  EXPECT_EQ(read_text(path), before);
  ASSERT_TRUE(session.save(path));
  EXPECT_EQ(read_text(path).size(), before.size());
  EXPECT_NE(read_text(path), before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1U) << "nothing else is left behind";
}

TEST_F(SavedSession, HasTheDocumentedForm) {
  const std::string text = read_text(path);
  ASSERT_EQ(text.size(), 56U + 20 + 32);
  EXPECT_EQ(text.substr(0, 12), std::string("polysess\1\0\0\0", 12));
  EXPECT_EQ(text.substr(48, 8), std::string("\x14\0\0\0\0\0\0\0", 8));
}

}  // namespace
}  // namespace polystate
