#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// Files of one place, by their names: those of a folder, or those that an artifact lists. What is
// read from it, a tokenizer for one, does not know which it is.
class NamedFiles {
 public:
  NamedFiles() = default;
  NamedFiles(const NamedFiles&) = delete;
  NamedFiles& operator=(const NamedFiles&) = delete;
  virtual ~NamedFiles() = default;

  // Where the files are, for messages.
  [[nodiscard]] virtual const std::filesystem::path& place() const = 0;
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  // A file's bytes. kIo: it cannot be read, or has more than `limit` bytes; of an artifact also as
  // Artifact::read.
  [[nodiscard]] virtual Result<std::string> read(const std::string& name,
                                                 std::uint64_t limit) const = 0;
  // The names of what is in a folder of the place, ascending: "folder/name". None where there is no
  // such folder.
  [[nodiscard]] virtual std::vector<std::string> names_in(const std::string& folder) const = 0;
};

}  // namespace polystate
