#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/artifact/file_bytes.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

class ArtifactFolder;

// How much an artifact's files are trusted. SHA256SUMS and the manifest are hashed and checked in
// any case.
enum class Verification : std::uint8_t {
  // Every file is hashed, and the bytes that were hashed (a private copy) are the bytes that run.
  kFull,
  // Sizes only; files are memory-mapped: for artifacts that nobody else can write to while they are
  // open.
  kTrusted,
};

struct ArtifactOptions {
  Verification verification = Verification::kFull;
  // The digest that the artifact must have, in lower-case hex. It pins the bytes of
  // every file with kFull; with kTrusted, which hashes no others, those of the manifest only.
  std::optional<std::string> expect_sha256 = std::nullopt;
};

// An artifact directory that passed every check that needs no engine. It owns the program's bytes,
// and keeps the directory open: what `read` gives is of the same artifact, even when another took
// its place.
class Artifact {
 public:
  // More bytes of a manifest are refused.
  static constexpr std::uint64_t kMaxManifestBytes = 64UL * 1024 * 1024;

  // kArtifact names the file and the field; kIo when a file cannot be read, kUnsupported for a
  // newer format, kContract for an `expect_sha256` that is no digest.
  static Result<Artifact> open(const std::filesystem::path& directory,
                               const ArtifactOptions& options = {});

  [[nodiscard]] const Manifest& manifest() const { return *manifest_; }
  // The same artifact with the manifest of its program, which has pairs [..., 2] for complex
  // tensors.
  [[nodiscard]] Artifact with_pairs() const;
  // The bytes of manifest.json, which `manifest` was read from; valid as long as the artifact.
  [[nodiscard]] std::string_view manifest_text() const;
  // The SHA-256 of the file SHA256SUMS, which pins every other file: what `sha256sum SHA256SUMS`
  // prints.
  [[nodiscard]] const Sha256& digest() const { return digest_; }
  // The SHA-256 of every file that SHA256SUMS lists, as it lists them.
  [[nodiscard]] const std::map<std::string, Sha256>& digests() const { return digests_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  // The program file (model.pte), already verified.
  [[nodiscard]] const std::shared_ptr<const FileBytes>& program() const { return program_; }
  // Another listed file's bytes, verified as `options` asked; kArtifact when it is not listed.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> read(const std::string& file) const;

 private:
  Artifact() = default;

  // Hashes every file, or checks its size, and keeps the program.
  Status load_files();

  std::filesystem::path directory_;
  std::shared_ptr<const ArtifactFolder> folder_;
  ArtifactOptions options_;
  std::shared_ptr<const std::vector<std::byte>> manifest_bytes_;
  std::shared_ptr<const Manifest> manifest_;
  Sha256 digest_{};
  std::map<std::string, Sha256> digests_;  // of every file that SHA256SUMS lists
  std::shared_ptr<const FileBytes> program_;
};

}  // namespace polystate
