#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

// What a saved conversation's file has: a JSON document, and what the model's caches have of it, as
// Runner::save_kept gives it: nothing where it will be read anew.
struct ChatFile {
  std::string document;
  std::vector<std::byte> state;
};

// A header (magic, version, the artifact's digest, sizes), the document, the state, and a SHA-256
// of all that. It appears whole or not at all. kIo.
Status write_chat_file(const std::filesystem::path& path, const Sha256& model,
                       const ChatFile& content);

// kArtifact for a damaged file, kUnsupported for a newer version's, kContract for that of another
// model, kIo for one that cannot be read.
Result<ChatFile> read_chat_file(const std::filesystem::path& path, const Sha256& model);

}  // namespace polystate
