#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

// A file in which a model's user keeps something for later: a magic of 8 bytes, the version
// (uint32), zero (uint32), the digest of the model's artifact, the size of each section (uint64),
// the sections, and the SHA-256 of everything before. Numbers are little-endian.
struct SavedFileKind {
  const char* name;  // in messages
  std::array<char, 8> magic;
  std::uint32_t version;
};

// The parts of a section lie one after another.
using SavedSection = std::span<const std::span<const std::byte>>;

// The file appears whole or not at all. kIo.
Status write_saved_file(const std::filesystem::path& path, const SavedFileKind& kind,
                        const Sha256& model, std::initializer_list<SavedSection> sections);

// Its `count` sections. kArtifact when the file is damaged or of another kind, kUnsupported when it
// is of a newer version, kContract when it is of another model, kIo when it cannot be read.
Result<std::vector<std::vector<std::byte>>> read_saved_file(const std::filesystem::path& path,
                                                            const SavedFileKind& kind,
                                                            const Sha256& model, std::size_t count);

}  // namespace polystate
