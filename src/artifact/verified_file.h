#pragma once

#include <memory>

#include "core/file.h"
#include "polystate/artifact/file_bytes.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

// Hashes a file. kArtifact when its digest is not `expected`, kIo when it cannot be read.
Status verify(const InputFile& file, const Sha256& expected);

// Copies a file into private memory and hashes the copy; errors as verify, and kIo when the memory
// is not there.
Result<std::shared_ptr<const FileBytes>> copy_verified(const InputFile& file,
                                                       const Sha256& expected);

// Maps a file without reading it.
Result<std::shared_ptr<const FileBytes>> map_file(const InputFile& file);

}  // namespace polystate
