#include "polystate/artifact/artifact.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "artifact/checksums.h"
#include "artifact/tiny_artifact.h"
#include "polystate/artifact/file_bytes.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

constexpr std::string_view kSomeDigest =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Sha256 digest_of(const std::string& text) {
  return sha256_of(std::as_bytes(std::span(text))).value();
}

void overwrite(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// A good artifact in a folder of its own, which a test then damages.
class ArtifactTest : public testing::Test {
 protected:
  ArtifactTest() { artifact_.write(path_); }

  // What open says, with the artifact's path as "...".
  [[nodiscard]] std::string refusal(const ArtifactOptions& options = {}) const {
    const Result<Artifact> opened = Artifact::open(path_, options);
    if (opened) return "(no error)";
    std::string message = opened.error().message;
    const std::size_t place = message.find(path_.string());
    return place == std::string::npos ? message
                                      : message.replace(place, path_.string().size(), "...");
  }

  [[nodiscard]] ErrorCode code_of_refusal() const { return Artifact::open(path_).error().code; }

  TinyArtifact artifact_;
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "artifact";
};

TEST_F(ArtifactTest, AGoodOneOpensAndGivesItsProgram) {
  const Artifact artifact = Artifact::open(path_).value();
  EXPECT_EQ(artifact.manifest().methods[0].name, "set_cache");
  EXPECT_EQ(artifact.manifest_text(), artifact_.files["manifest.json"]);
  EXPECT_EQ(artifact.directory(), path_);
  EXPECT_EQ(artifact.digest(), digest_of(artifact_.files["SHA256SUMS"]));
  EXPECT_EQ(text_of(*artifact.program()), artifact_.files["model.pte"]);
}

TEST_F(ArtifactTest, ListedFilesCanBeRead) {
  const Artifact artifact = Artifact::open(path_).value();
  EXPECT_EQ(text_of(*artifact.read("golden.npz").value()), artifact_.files["golden.npz"]);
  EXPECT_EQ(artifact.read("model.pte").value(), artifact.program());
}

TEST_F(ArtifactTest, FilesThatAreNotListedCannotBeRead) {
  overwrite(path_ / "notes.txt", "anything");
  const Artifact artifact = Artifact::open(path_).value();
  for (const char* name :
       {"notes.txt", "manifest.json", "../artifact/model.pte", "/etc/passwd", ""}) {
    const Result<std::shared_ptr<const FileBytes>> file = artifact.read(name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, ErrorCode::kArtifact);
    EXPECT_EQ(file.error().message,
              "the artifact '" + path_.string() + "' has no file \"" + name + "\"");
  }
}

TEST_F(ArtifactTest, TheProgramOutlivesTheArtifact) {
  const std::shared_ptr<const FileBytes> program = Artifact::open(path_).value().program();
  EXPECT_EQ(text_of(*program), artifact_.files["model.pte"]);
}

TEST_F(ArtifactTest, ChangesAfterOpeningDoNotReachTheProgram) {
  const Artifact artifact = Artifact::open(path_).value();
  overwrite(path_ / "model.pte", std::string(100, 'x'));
  EXPECT_EQ(text_of(*artifact.program()), artifact_.files["model.pte"]);
  std::filesystem::resize_file(path_ / "model.pte", 0);
  EXPECT_EQ(text_of(*artifact.program()), artifact_.files["model.pte"]);
}

TEST_F(ArtifactTest, AFileThatChangedAfterOpeningIsRefusedWhenItIsRead) {
  const Artifact artifact = Artifact::open(path_).value();
  overwrite(path_ / "golden.npz", std::string(40, 'x'));
  const Result<std::shared_ptr<const FileBytes>> file = artifact.read("golden.npz");
  ASSERT_FALSE(file);
  EXPECT_TRUE(
      file.error().message.starts_with("'" + (path_ / "golden.npz").string() + "' is damaged"));
}

TEST_F(ArtifactTest, FilesAreThoseOfTheDirectoryThatWasOpenedEvenWhenAnotherTakesItsPlace) {
  const Artifact artifact = Artifact::open(path_).value();
  std::filesystem::rename(path_, folder_ / "old");
  TinyArtifact other;
  other.files["golden.npz"] = std::string(40, 'o');
  other.seal();
  other.write(path_);
  EXPECT_EQ(text_of(*artifact.read("golden.npz").value()), artifact_.files["golden.npz"]);
}

TEST_F(ArtifactTest, EveryTruncationOfEveryFileIsRefused) {
  for (const auto& [name, content] : artifact_.files) {
    for (std::size_t size = content.size(); size-- > 0;) {
      std::filesystem::resize_file(path_ / name, size);
      EXPECT_FALSE(Artifact::open(path_)) << name << " cut to " << size;
    }
    overwrite(path_ / name, content);
  }
  EXPECT_TRUE(Artifact::open(path_));
}

TEST_F(ArtifactTest, AChangeOfAnyByteOfAnyFileIsRefused) {
  for (const auto& [name, content] : artifact_.files) {
    std::fstream file(path_ / name, std::ios::binary | std::ios::in | std::ios::out);
    for (std::size_t i = 0; i < content.size(); ++i) {
      const auto place = static_cast<std::streamoff>(i);
      const auto flipped =
          static_cast<char>(static_cast<unsigned char>(content[i]) ^ (1U << i % 8));
      file.seekp(place).put(flipped).flush();
      EXPECT_FALSE(Artifact::open(path_)) << name << " with a flipped bit in byte " << i;
      file.seekp(place).put(content[i]).flush();
    }
  }
  EXPECT_TRUE(Artifact::open(path_));
}

TEST_F(ArtifactTest, AByteMoreInAnyFileIsRefused) {
  for (const auto& [name, content] : artifact_.files) {
    for (const char extra : {'\0', '\n', ' ', 'a'}) {
      overwrite(path_ / name, content + extra);
      EXPECT_FALSE(Artifact::open(path_)) << name;
    }
    overwrite(path_ / name, content);
  }
}

TEST_F(ArtifactTest, AMissingFileIsNamed) {
  for (const auto& [name, content] : artifact_.files) {
    std::filesystem::remove(path_ / name);
    EXPECT_EQ(refusal(), "'.../" + name + "' is missing");
    EXPECT_EQ(code_of_refusal(), ErrorCode::kArtifact);
    overwrite(path_ / name, content);
  }
}

TEST_F(ArtifactTest, ASymbolicLinkInPlaceOfAFileIsRefused) {
  for (const auto& [name, content] : artifact_.files) {
    std::filesystem::rename(path_ / name, folder_ / name);
    std::filesystem::create_symlink(folder_ / name, path_ / name);
    EXPECT_EQ(refusal(),
              "'.../" + name + "' is a symbolic link; an artifact's files are regular files");
    EXPECT_EQ(code_of_refusal(), ErrorCode::kArtifact);
    std::filesystem::rename(folder_ / name, path_ / name);
  }
}

TEST_F(ArtifactTest, ANamedPipeInPlaceOfAFileIsRefusedWithoutWaiting) {
  for (const auto& [name, content] : artifact_.files) {
    std::filesystem::remove(path_ / name);
    ASSERT_EQ(::mkfifo((path_ / name).c_str(), 0600), 0);
    EXPECT_EQ(refusal(), "'.../" + name + "' is not a regular file");
    EXPECT_EQ(code_of_refusal(), ErrorCode::kArtifact);
    std::filesystem::remove(path_ / name);
    overwrite(path_ / name, content);
  }
}

TEST_F(ArtifactTest, ADirectoryInPlaceOfAFileIsRefused) {
  std::filesystem::remove(path_ / "model.pte");
  std::filesystem::create_directory(path_ / "model.pte");
  EXPECT_EQ(refusal(), "'.../model.pte' is not a regular file");
}

TEST_F(ArtifactTest, TheArtifactItselfMayBeReachedThroughALink) {
  std::filesystem::create_directory_symlink(path_, folder_ / "latest");
  EXPECT_TRUE(Artifact::open(folder_ / "latest"));
}

TEST_F(ArtifactTest, APathThatIsNoDirectoryIsRefused) {
  const Result<Artifact> file = Artifact::open(path_ / "model.pte");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kArtifact);
  EXPECT_EQ(file.error().message, "'" + (path_ / "model.pte").string() + "' is not a directory");
  const Result<Artifact> nothing = Artifact::open(folder_ / "nothing");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kIo);
  EXPECT_EQ(nothing.error().message, "cannot open the artifact '" + (folder_ / "nothing").string() +
                                         "': No such file or directory");
}

TEST_F(ArtifactTest, AnEmptyDirectoryIsNoArtifact) {
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_EQ(Artifact::open(folder_ / "empty").error().message,
            "'" + (folder_ / "empty/SHA256SUMS").string() + "' is missing");
}

TEST_F(ArtifactTest, AManifestOfMoreThanTheLimitIsNotRead) {
  std::filesystem::resize_file(path_ / "manifest.json", Artifact::kMaxManifestBytes + 1);
  EXPECT_EQ(refusal(), "'.../manifest.json' has 67108865 bytes; the limit is 67108864");
  EXPECT_EQ(code_of_refusal(), ErrorCode::kArtifact);
}

TEST_F(ArtifactTest, DamageIsShownWithBothDigests) {
  std::string damaged = artifact_.files["model.pte"];
  damaged[50] = 'q';
  overwrite(path_ / "model.pte", damaged);
  EXPECT_EQ(refusal(), "'.../model.pte' is damaged: its SHA-256 is " + to_hex(digest_of(damaged)) +
                           ", SHA256SUMS says " + to_hex(digest_of(artifact_.files["model.pte"])));
}

TEST_F(ArtifactTest, APinnedOneMustBeTheOneThatIsThere) {
  ArtifactOptions options;
  const std::string found = to_hex(digest_of(artifact_.files["SHA256SUMS"]));
  options.expect_sha256 = found;
  EXPECT_EQ(refusal(options), "(no error)");
  options.expect_sha256 = kSomeDigest;
  EXPECT_EQ(refusal(options), "'.../SHA256SUMS' is not the expected one: its SHA-256 is " + found +
                                  ", expected was " + std::string(kSomeDigest));
  options.verification = Verification::kTrusted;
  EXPECT_NE(refusal(options), "(no error)");
}

TEST_F(ArtifactTest, APinRefusesChangedWeightsWhoseDigestsFit) {
  ArtifactOptions options;
  options.expect_sha256 = to_hex(Artifact::open(path_).value().digest());
  artifact_.files["model.pte"] = std::string(100, 'q');
  artifact_.seal();
  artifact_.write(path_);
  EXPECT_EQ(refusal(), "(no error)");
  EXPECT_TRUE(refusal(options).starts_with("'.../SHA256SUMS' is not the expected one"));
}

TEST_F(ArtifactTest, APinThatIsNoDigestIsRefused) {
  for (const std::string pin : {"E3B0", ""}) {
    const Result<Artifact> opened = Artifact::open(path_, {.expect_sha256 = pin});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kContract);
    EXPECT_EQ(opened.error().message,
              "expect_sha256 is \"" + pin + "\"; a SHA-256 has 64 lower-case hex digits");
  }
}

ArtifactOptions trusted() { return {.verification = Verification::kTrusted}; }

TEST_F(ArtifactTest, ATrustedOneIsMappedAndItsFilesAreNotHashed) {
  overwrite(path_ / "model.pte", std::string(100, 'x'));
  const Artifact artifact = Artifact::open(path_, trusted()).value();
  EXPECT_EQ(text_of(*artifact.program()), std::string(100, 'x'));
  EXPECT_EQ(text_of(*artifact.read("golden.npz").value()), artifact_.files["golden.npz"]);
}

TEST_F(ArtifactTest, ATrustedOneIsStillCheckedForSizesAndItsManifest) {
  overwrite(path_ / "golden.npz", "short");
  EXPECT_EQ(refusal(trusted()), "'.../golden.npz' has 5 bytes; manifest.json says 40");
  overwrite(path_ / "golden.npz", artifact_.files["golden.npz"]);
  overwrite(path_ / "manifest.json", artifact_.files["manifest.json"] + " ");
  EXPECT_TRUE(refusal(trusted()).starts_with("'.../manifest.json' is damaged"));
}

// An artifact whose program has several pages.
class PagesTest : public testing::TestWithParam<Verification> {
 protected:
  PagesTest() {
    std::string& program = artifact_.files["model.pte"];
    program.resize(3000017);
    for (std::size_t i = 0; i < program.size(); ++i)
      program[i] = static_cast<char>(i * 7 + i / 4096);
    artifact_.files["manifest.json"] =
        edited_manifest("\"model.pte\": 100", "\"model.pte\": 3000017");
    artifact_.seal();
    artifact_.write(folder_ / "artifact");
  }

  TinyArtifact artifact_;
  TemporaryFolder folder_;
};

TEST_P(PagesTest, BytesThatWereReleasedComeBackUnchanged) {
  const Artifact artifact =
      Artifact::open(folder_ / "artifact", {.verification = GetParam()}).value();
  const FileBytes& program = *artifact.program();
  ASSERT_EQ(program.bytes().size(), 3000017);
  for (const auto& [offset, size] : {std::pair<std::size_t, std::size_t>{0, 3000017},
                                     {1, 4095},
                                     {5000, 100000},
                                     {3000017, 0},
                                     {0, 3000018},
                                     {SIZE_MAX, 2}}) {
    program.release(offset, size);
  }
  EXPECT_EQ(text_of(program), artifact_.files["model.pte"]);
}

INSTANTIATE_TEST_SUITE_P(BothWays, PagesTest,
                         testing::Values(Verification::kFull, Verification::kTrusted));

// SHA256SUMS

std::string sums_error(const std::string& text) {
  const Result<std::map<std::string, Sha256>> sums = parse_checksums(text);
  return sums ? "(no error)" : sums.error().message;
}

std::string line(const std::string& name) { return std::string(kSomeDigest) + "  " + name + "\n"; }

TEST(Checksums, AreReadByName) {
  const auto sums = parse_checksums(line("a") + line("b.c")).value();
  ASSERT_EQ(sums.size(), 2);
  EXPECT_EQ(to_hex(sums.at("b.c")), kSomeDigest);
  EXPECT_TRUE(parse_checksums("").value().empty());
}

TEST(Checksums, AnyOtherFormIsRefused) {
  const std::string digest(kSomeDigest);
  EXPECT_EQ(sums_error(line("a") + digest + "  b"), "line 2: the line feed at its end is missing");
  EXPECT_EQ(sums_error("\n"), "line 1: does not begin with 64 lower-case hex digits");
  EXPECT_EQ(sums_error(digest + "\n"), "line 1: does not have two spaces after the digest");
  EXPECT_EQ(sums_error("E" + digest.substr(1) + "  a\n"),
            "line 1: does not begin with 64 lower-case hex digits");
  EXPECT_EQ(sums_error(digest + " *a\n"), "line 1: does not have two spaces after the digest");
  EXPECT_EQ(sums_error(digest + "   a\n"), "line 1: \" a\" is not a file name");
  EXPECT_EQ(sums_error(digest + "  a\r\n"), "line 1: \"a?\" is not a file name");
  EXPECT_EQ(sums_error(line("../a")), "line 1: \"../a\" is not a file name");
  EXPECT_EQ(sums_error(line("")), "line 1: \"\" is not a file name");
  EXPECT_EQ(sums_error(line("b") + line("a")), "line 2: \"a\" does not come after \"b\"");
  EXPECT_EQ(sums_error(line("a") + line("a")), "line 2: \"a\" does not come after \"a\"");
}

}  // namespace
}  // namespace polystate
