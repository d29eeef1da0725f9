#include "engine/state_layout.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/arena.h"

namespace polystate {

std::span<std::byte> StateLayout::find(std::size_t index, const Arena& arena) const {
  return arena.bytes().subspan(places_[index].offset, places_[index].size);
}

void StateLayout::initialise(Arena& arena) const {
  arena.clear();
  for (const StatePlace& place : places_) {
    std::ranges::copy(place.initial,
                      arena.bytes().begin() + static_cast<std::ptrdiff_t>(place.offset));
  }
}

}  // namespace polystate
