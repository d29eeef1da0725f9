#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

using Sha256 = std::array<std::byte, 32>;

// How much an artifact's files are trusted.
enum class Verification {
  kFull,     // every file is hashed, and the bytes that were hashed (a private copy) are the bytes that run
  kTrusted,  // sizes only; files are memory-mapped: for artifacts that nobody else can write to while they are open
};

struct ArtifactOptions {
  Verification verification = Verification::kFull;
  // When not empty: the SHA-256 that manifest.json must have, in lower-case hex.
  std::string expect_sha256;
};

// Read-only bytes with their owner. Pages that ExecuTorch gives back may be dropped and come back unchanged.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  [[nodiscard]] virtual std::span<const std::byte> bytes() const = 0;
};

// An artifact directory that passed every check that needs no engine. It owns the program's bytes.
class Artifact {
 public:
  // kArtifact names the file and the field; kIo when a file cannot be read.
  static Result<Artifact> open(const std::filesystem::path& directory, const ArtifactOptions& options = {});

  [[nodiscard]] const Manifest& manifest() const { return *manifest_; }
  [[nodiscard]] const Sha256& manifest_digest() const { return manifest_digest_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  // The program file (model.pte), already verified.
  [[nodiscard]] const std::shared_ptr<const FileBytes>& program() const { return program_; }
  // Another listed file's bytes, verified as `options` asked; kArtifact when it is not listed.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> read(const std::string& file) const;

 private:
  Artifact() = default;
  std::filesystem::path directory_;
  ArtifactOptions options_;
  std::shared_ptr<const Manifest> manifest_;
  Sha256 manifest_digest_{};
  std::map<std::string, Sha256> digests_;
  std::shared_ptr<const FileBytes> program_;
};

}  // namespace polystate
