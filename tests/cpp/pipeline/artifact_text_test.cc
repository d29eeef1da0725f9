// What an artifact has for texts is of the files that it lists, whatever else its directory has.

#include "polystate/pipeline/artifact_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <string>
#include <string_view>

#include "artifact/tiny_artifact.h"
#include "polystate/artifact/artifact.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTwoIds =
    R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})";
constexpr std::string_view kThreeIds =
    R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}}})";

// Writes an artifact that lists `files` besides its own.
void write_artifact(const fs::path& folder, const std::map<std::string, std::string>& files) {
  std::string listed = R"("files": {"golden.npz": 40, "model.pte": 100)";
  TinyArtifact artifact;
  for (const auto& [name, content] : files) {
    listed += ", \"" + name + "\": " + std::to_string(content.size());
    artifact.files[name] = content;
  }
  artifact.files["manifest.json"] =
      edited_manifest(R"("files": {"golden.npz": 40, "model.pte": 100})", listed + "}");
  artifact.seal();
  artifact.write(folder);
}

void write(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

TEST(ArtifactText, IsOfTheFilesThatTheArtifactLists) {
  const TemporaryFolder folder;
  write_artifact(folder / "a", {{"chat_template.jinja", "listed"},
                                {"notes.txt", "of no use"},
                                {"tokenizer.json", std::string(kTwoIds)}});
  write(folder / "a" / "additional_chat_templates" / "tool_use.jinja", "not listed");
  write(folder / "a" / "tokenizer_config.json", R"({"bos_token": "<s>"})");
  for (const Verification verification : {Verification::kFull, Verification::kTrusted}) {
    const Artifact artifact = Artifact::open(folder / "a", {.verification = verification}).value();
    EXPECT_EQ(tokenizer_of(artifact).value()->vocabulary_size(), 2);
    const ChatTemplates templates = chat_templates_of(artifact).value();
    EXPECT_EQ(templates.names().size(), 1);
    EXPECT_TRUE(templates.special_tokens().empty());
  }
}

TEST(ArtifactText, IsNotThatOfAnUnlistedTokenizer) {
  const TemporaryFolder folder;
  write_artifact(folder / "a", {{"tokenizer_config.json", "{}"}});
  write(folder / "a" / "tokenizer.json", kTwoIds);
  const Artifact artifact = Artifact::open(folder / "a").value();
  EXPECT_EQ(tokenizer_of(artifact).error().code, ErrorCode::kIo);
  EXPECT_TRUE(chat_templates_of(artifact).value().names().empty());
}

TEST(ArtifactText, IsVerifiedWhenItIsRead) {
  const TemporaryFolder folder;
  write_artifact(folder / "a", {{"tokenizer.json", std::string(kTwoIds)}});
  const Artifact artifact = Artifact::open(folder / "a").value();
  std::string damaged(kTwoIds);
  damaged[damaged.find('a')] = 'b';
  write(folder / "a" / "tokenizer.json", damaged);
  EXPECT_EQ(tokenizer_of(artifact).error().code, ErrorCode::kArtifact);
}

TEST(ArtifactText, IsOfTheArtifactThatWasOpenedWhenAnotherTakesItsPlace) {
  const TemporaryFolder folder;
  write_artifact(folder / "a", {{"tokenizer.json", std::string(kTwoIds)}});
  write_artifact(folder / "b", {{"tokenizer.json", std::string(kThreeIds)}});
  const Artifact artifact = Artifact::open(folder / "a").value();
  fs::rename(folder / "a", folder / "old");
  fs::rename(folder / "b", folder / "a");
  EXPECT_EQ(tokenizer_of(artifact).value()->vocabulary_size(), 2);
}

}  // namespace
}  // namespace polystate
