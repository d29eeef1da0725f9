#include "artifact/artifact_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {

Result<ArtifactFolder> ArtifactFolder::open(const std::filesystem::path& path) {
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) return ArtifactFolder(path, std::move(descriptor));
  if (errno == ENOTDIR) {
    return Error{ErrorCode::kArtifact, "'" + path.string() + "' is not a directory"};
  }
  return Error{ErrorCode::kIo,
               "cannot open the artifact '" + path.string() + "': " + errno_text(errno)};
}

ArtifactFolder::ArtifactFolder(std::filesystem::path path, FileDescriptor descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

Result<InputFile> ArtifactFolder::file(const std::string& name) const {
  const std::string shown = "'" + (path_ / name).string() + "'";
  FileDescriptor file(
      ::openat(descriptor_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return Error{ErrorCode::kArtifact, shown + " is missing"};
  if (!file.is_open() && errno == ELOOP) {
    return Error{ErrorCode::kArtifact,
                 shown + " is a symbolic link; an artifact's files are regular files"};
  }
  if (!file.is_open()) {
    return Error{ErrorCode::kIo, "cannot open " + shown + ": " + errno_text(errno)};
  }
  Result<InputFile> opened = InputFile::adopt(std::move(file), shown);
  if (!opened) return Error{ErrorCode::kArtifact, opened.error().message};
  return opened;
}

}  // namespace polystate
