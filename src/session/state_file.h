#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

// A saved session: "polysess", the version (uint32, 1), zero (uint32), the digest of the
// model's artifact, the number of bytes of state (uint64), these bytes, the SHA-256 of everything
// before. Numbers are little-endian.

// Writes `states` one after another; atomic.
Status write_state_file(const std::filesystem::path& path, const Sha256& model,
                        std::span<const std::span<const std::byte>> states);

// The `size` bytes of state. kArtifact when the file is damaged or no saved session, kContract when
// it is of another model, kIo when it cannot be read.
Result<std::vector<std::byte>> read_state_file(const std::filesystem::path& path,
                                               const Sha256& model, std::size_t size);

}  // namespace polystate
