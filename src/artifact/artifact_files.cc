#include "artifact/artifact_files.h"

#include <cstdint>
#include <string>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

bool ArtifactFiles::has(const std::string& name) const {
  return artifact_->manifest().files.contains(name);
}

Result<std::string> ArtifactFiles::read(const std::string& name, std::uint64_t limit) const {
  const auto listed = artifact_->manifest().files.find(name);
  if (listed != artifact_->manifest().files.end() && listed->second > limit) {
    return Error{ErrorCode::kIo, "'" + (place() / name).string() + "' has " +
                                     std::to_string(listed->second) + " bytes; the limit is " +
                                     std::to_string(limit)};
  }
  const auto file = artifact_->read(name);
  if (!file) return file.error();
  const auto bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::string> ArtifactFiles::names_in(const std::string& /*folder*/) const {
  return {};  // names of an artifact's files have no "/"
}

}  // namespace polystate
