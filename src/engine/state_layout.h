#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "engine/arena.h"

namespace polystate {

// Where a state lies in a session's arena, and what is there at first.
struct StatePlace {
  std::size_t offset;
  std::size_t size;                // in bytes
  std::vector<std::byte> initial;  // empty: zeros
};

// The places of all states, which all sessions of a program share.
class StateLayout {
 public:
  // By the manifest's order; no two overlap.
  explicit StateLayout(std::vector<StatePlace> places) : places_(std::move(places)) {}

  // The memory of state `index` in a session's arena.
  [[nodiscard]] std::span<std::byte> find(std::size_t index, const Arena& arena) const;

  // Gives every state its initial values.
  void initialise(Arena& arena) const;

 private:
  std::vector<StatePlace> places_;
};

}  // namespace polystate
