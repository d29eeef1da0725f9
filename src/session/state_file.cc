#include "session/state_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/saved_file.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

constexpr SavedFileKind kSession{
    "saved session", {'p', 'o', 'l', 'y', 's', 'e', 's', 's'}, /*version=*/1};

}  // namespace

Status write_state_file(const std::filesystem::path& path, const Sha256& model,
                        std::span<const std::span<const std::byte>> states) {
  return write_saved_file(path, kSession, model, {states});
}

Result<std::vector<std::byte>> read_state_file(const std::filesystem::path& path,
                                               const Sha256& model, std::size_t size) {
  Result<std::vector<std::vector<std::byte>>> read = read_saved_file(path, kSession, model, 1);
  if (!read) return read.error();
  std::vector<std::byte> state = std::move(read->front());
  if (state.size() != size) {
    return Error{ErrorCode::kArtifact, std::string(kSession.name) + " '" + path.string() +
                                           "': has " + std::to_string(state.size()) +
                                           " bytes of state, the model " + std::to_string(size)};
  }
  return state;
}

}  // namespace polystate
