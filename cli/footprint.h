#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"

namespace polystate::cli {

// The memory that a model needs, by its manifest.
struct Footprint {
  std::uint64_t program_bytes = 0;     // weights and code, once a process
  std::uint64_t state_bytes = 0;       // once a session
  std::uint64_t activation_bytes = 0;  // once a session: the largest of its methods
};

Footprint footprint_of(const Manifest& manifest);

// The sizes in bytes of the artifact's files, manifest.json and SHA256SUMS among them.
std::map<std::string, std::uint64_t> file_sizes(const Artifact& artifact);

}  // namespace polystate::cli
