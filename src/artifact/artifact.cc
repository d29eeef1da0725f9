#include "polystate/artifact/artifact.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/artifact_folder.h"
#include "artifact/checksums.h"
#include "artifact/manifest_with_pairs.h"
#include "artifact/verified_file.h"
#include "core/file.h"
#include "core/text.h"
#include "polystate/artifact/file_bytes.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kChecksums = "SHA256SUMS";
constexpr std::uint64_t kMaxChecksumsBytes = std::uint64_t{1024} * 1024;

Error damaged(const InputFile& file, const std::string& what) {
  return {ErrorCode::kArtifact, file.shown_name() + what};
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::vector<std::byte>> read_small(const InputFile& file, std::uint64_t limit) {
  if (file.size() > limit) {
    return damaged(file, " has " + std::to_string(file.size()) + " bytes; the limit is " +
                             std::to_string(limit));
  }
  return read_file(file, limit);
}

// The digest that the caller pinned, if any.
Result<std::optional<Sha256>> pinned_digest(const std::optional<std::string>& hex) {
  if (!hex) return std::optional<Sha256>();
  const std::optional<Sha256> digest = sha256_from_hex(*hex);
  if (digest) return digest;
  return Error{ErrorCode::kContract,
               "expect_sha256 is " + in_quotes(*hex) + "; a SHA-256 has 64 lower-case hex digits"};
}

struct ChecksumsFile {
  Sha256 digest;                          // of this file: the artifact's
  std::map<std::string, Sha256> digests;  // of the files that it lists
};

Result<ChecksumsFile> read_checksums(const ArtifactFolder& folder,
                                     const std::optional<Sha256>& pinned) {
  const Result<InputFile> file = folder.file(kChecksums);
  if (!file) return file.error();
  const Result<std::vector<std::byte>> bytes = read_small(*file, kMaxChecksumsBytes);
  if (!bytes) return bytes.error();
  const Result<Sha256> digest = sha256_of(*bytes);
  if (!digest) return digest.error();
  if (pinned && *digest != *pinned) {
    return damaged(*file, " is not the expected one: its SHA-256 is " + to_hex(*digest) +
                              ", expected was " + to_hex(*pinned));
  }
  Result<std::map<std::string, Sha256>> digests = parse_checksums(text_of(*bytes));
  if (!digests) return damaged(*file, ", " + digests.error().message);
  if (!digests->contains(kManifest)) return damaged(*file, " does not list manifest.json");
  return ChecksumsFile{*digest, *std::move(digests)};
}

struct ManifestFile {
  std::vector<std::byte> bytes;
  Manifest manifest;
};

Result<ManifestFile> read_manifest(const ArtifactFolder& folder, const Sha256& listed) {
  const Result<InputFile> file = folder.file(kManifest);
  if (!file) return file.error();
  Result<std::vector<std::byte>> bytes = read_small(*file, Artifact::kMaxManifestBytes);
  if (!bytes) return bytes.error();
  const Result<Sha256> digest = sha256_of(*bytes);
  if (!digest) return digest.error();
  if (*digest != listed) {
    return damaged(*file, " is damaged: its SHA-256 is " + to_hex(*digest) + ", SHA256SUMS says " +
                              to_hex(listed));
  }
  Result<Manifest> manifest = Manifest::parse(text_of(*bytes));
  if (!manifest) {
    return Error{manifest.error().code, file->shown_name() + ": " + manifest.error().message};
  }
  return ManifestFile{*std::move(bytes), *std::move(manifest)};
}

// Both lists must name the same files; SHA256SUMS has the manifest besides.
Status compare_lists(const Manifest& manifest, const std::map<std::string, Sha256>& digests) {
  for (const auto& [name, size] : manifest.files) {
    if (digests.contains(name)) continue;
    return Error{ErrorCode::kArtifact,
                 "SHA256SUMS does not list '" + name + "', which manifest.json has"};
  }
  for (const auto& [name, digest] : digests) {
    if (name == kManifest || manifest.files.contains(name)) continue;
    return Error{ErrorCode::kArtifact,
                 "SHA256SUMS lists '" + name + "', which manifest.json does not have"};
  }
  return {};
}

// Opens a file of the manifest and checks its size.
Result<InputFile> open_listed(const ArtifactFolder& folder, const std::string& name,
                              std::uint64_t size) {
  Result<InputFile> file = folder.file(name);
  if (file && file->size() != size) {
    return damaged(*file, " has " + std::to_string(file->size()) + " bytes; manifest.json says " +
                              std::to_string(size));
  }
  return file;
}

}  // namespace

Result<Artifact> Artifact::open(const std::filesystem::path& directory,
                                const ArtifactOptions& options) {
  const Result<std::optional<Sha256>> pinned = pinned_digest(options.expect_sha256);
  if (!pinned) return pinned.error();
  Result<ArtifactFolder> folder = ArtifactFolder::open(directory);
  if (!folder) return folder.error();
  Result<ChecksumsFile> checksums = read_checksums(*folder, *pinned);
  if (!checksums) return checksums.error();
  Result<ManifestFile> manifest = read_manifest(*folder, checksums->digests.at(kManifest));
  if (!manifest) return manifest.error();
  if (const Status status = compare_lists(manifest->manifest, checksums->digests); !status) {
    return Error{ErrorCode::kArtifact, "'" + directory.string() + "': " + status.error().message};
  }

  Artifact artifact;
  artifact.directory_ = directory;
  artifact.options_ = options;
  artifact.folder_ = std::make_shared<const ArtifactFolder>(*std::move(folder));
  artifact.manifest_bytes_ =
      std::make_shared<const std::vector<std::byte>>(std::move(manifest->bytes));
  artifact.manifest_ = std::make_shared<const Manifest>(std::move(manifest->manifest));
  artifact.digest_ = checksums->digest;
  artifact.digests_ = std::move(checksums->digests);
  if (const Status status = artifact.load_files(); !status) return status.error();
  return artifact;
}

Status Artifact::load_files() {
  for (const auto& [name, size] : manifest_->files) {
    if (name == manifest_->program.file) continue;
    const Result<InputFile> file = open_listed(*folder_, name, size);
    if (!file) return file.error();
    if (options_.verification == Verification::kTrusted) continue;
    if (Status status = verify(*file, digests_.at(name)); !status) return status;
  }
  Result<std::shared_ptr<const FileBytes>> program = read(manifest_->program.file);
  if (!program) return program.error();
  program_ = *std::move(program);
  return {};
}

Artifact Artifact::with_pairs() const {
  Artifact artifact = *this;
  artifact.manifest_ = std::make_shared<const Manifest>(manifest_with_pairs(*manifest_));
  return artifact;
}

std::string_view Artifact::manifest_text() const { return text_of(*manifest_bytes_); }

Result<std::shared_ptr<const FileBytes>> Artifact::read(const std::string& file) const {
  if (program_ && file == manifest_->program.file) return program_;
  const auto listed = manifest_->files.find(file);
  if (listed == manifest_->files.end()) {
    return Error{ErrorCode::kArtifact,
                 "the artifact '" + directory_.string() + "' has no file " + in_quotes(file)};
  }
  const Result<InputFile> opened = open_listed(*folder_, file, listed->second);
  if (!opened) return opened.error();
  if (options_.verification == Verification::kTrusted) return map_file(*opened);
  return copy_verified(*opened, digests_.at(file));
}

}  // namespace polystate
