#pragma once

#include <filesystem>
#include <string>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {

// A copy of an exported artifact whose manifest says something else, with digests that fit.
class AlteredArtifact {
 public:
  explicit AlteredArtifact(const std::string& name);

  // Replaces the first `from` of the manifest after the first `after`; both must be there.
  AlteredArtifact& replace(const std::string& from, const std::string& to,
                           const std::string& after = "");
  // Replaces the program by other bytes.
  AlteredArtifact& replace_program(const std::string& bytes);
  [[nodiscard]] std::string program() const;

  [[nodiscard]] Result<Artifact> open() const;

 private:
  void write() const;

  TemporaryFolder folder_;
  std::string manifest_;
};

}  // namespace polystate
