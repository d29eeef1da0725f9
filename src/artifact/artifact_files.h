#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/named_files.h"
#include "polystate/core/result.h"

namespace polystate {

// The files that an artifact lists, as it verifies them: no others that its directory may have, and
// none of folders. It borrows the artifact.
class ArtifactFiles final : public NamedFiles {
 public:
  explicit ArtifactFiles(const Artifact& artifact) : artifact_(&artifact) {}

  [[nodiscard]] const std::filesystem::path& place() const override {
    return artifact_->directory();
  }
  [[nodiscard]] bool has(const std::string& name) const override;
  [[nodiscard]] Result<std::string> read(const std::string& name,
                                         std::uint64_t limit) const override;
  [[nodiscard]] std::vector<std::string> names_in(const std::string& folder) const override;

 private:
  const Artifact* artifact_;
};

}  // namespace polystate
