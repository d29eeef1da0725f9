#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/arena.h"
#include "engine/executorch/loaded_method.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// Where every state lies in a session's state arena, and what is there at first. The same for all
// sessions of a program, which share it.
class StateLayout {
 public:
  // Reads it from a session whose methods are all loaded and of which none ran. kArtifact when a
  // state is not where states may be: in the arena, apart from the others, at one address in all
  // methods.
  static Result<StateLayout> read(const Manifest& manifest, std::span<LoadedMethod> methods,
                                  const Arena& arena);

  // The memory of state `index` in a session's arena.
  [[nodiscard]] std::span<std::byte> find(std::size_t index, const Arena& arena) const;

  // Gives every state its initial values.
  void initialise(Arena& arena) const;

 private:
  struct Place {
    std::size_t offset;
    std::size_t size;
    std::vector<std::byte> initial;  // empty: zeros
  };
  std::vector<Place> places_;  // by state
};

}  // namespace polystate
