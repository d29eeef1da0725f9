#include "cli/footprint.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "cli/describe.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"

namespace polystate::cli {

Footprint footprint_of(const Manifest& manifest) {
  Footprint footprint;
  const auto program = manifest.files.find(manifest.program.file);
  if (program != manifest.files.end()) footprint.program_bytes = program->second;
  for (const StateSpec& state : manifest.state) footprint.state_bytes += bytes_of(state);
  for (const MethodSpec& method : manifest.methods) {
    footprint.activation_bytes = std::max(footprint.activation_bytes, method.activation_bytes);
  }
  return footprint;
}

std::map<std::string, std::uint64_t> file_sizes(const Artifact& artifact) {
  std::map<std::string, std::uint64_t> sizes = artifact.manifest().files;
  for (const char* const name : {"manifest.json", "SHA256SUMS"}) {
    // The artifact was read a moment ago; should a file have gone since, it has no size.
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(artifact.directory() / name, missing);
    if (!missing) sizes[name] = size;
  }
  return sizes;
}

}  // namespace polystate::cli
