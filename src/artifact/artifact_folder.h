#pragma once

#include <filesystem>
#include <string>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {

// An artifact's directory, open: its files are those of this directory even when another is renamed
// to its path.
class ArtifactFolder {
 public:
  // kArtifact when it is no directory, kIo when it cannot be opened.
  static Result<ArtifactFolder> open(const std::filesystem::path& path);

  // A file of the directory. kArtifact when it is missing, a symbolic link or not a regular file.
  [[nodiscard]] Result<InputFile> file(const std::string& name) const;

 private:
  ArtifactFolder(std::filesystem::path path, FileDescriptor descriptor);

  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

}  // namespace polystate
