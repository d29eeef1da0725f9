#include "engine/executorch/read_state_layout.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/arena.h"
#include "engine/executorch/loaded_method.h"
#include "engine/state_layout.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

struct Range {
  std::size_t first;
  std::size_t end;
  bool operator==(const Range&) const = default;
};

Error misplaced(const std::string& state, const std::string& what) {
  return Error{ErrorCode::kArtifact, "state '" + state + "' " + what};
}

// A buffer as a range of the arena, or nothing where it is not inside.
std::optional<Range> range_in(const Arena& arena, std::span<const std::byte> buffer) {
  const std::less_equal<const std::byte*> below;  // a total order, unlike that of pointers
  const std::span<std::byte> whole = arena.bytes();
  if (buffer.data() == nullptr || !below(whole.data(), buffer.data()) ||
      !below(buffer.data() + buffer.size(), whole.data() + whole.size())) {
    return {};
  }
  const auto first = static_cast<std::size_t>(buffer.data() - whole.data());
  return Range{first, first + buffer.size()};
}

// Where the methods have a state; nothing for a state without elements.
Result<Range> find_state(const StateSpec& state, std::span<LoadedMethod> methods,
                         const Arena& arena) {
  std::optional<Range> found;
  for (LoadedMethod& method : methods) {
    const auto buffer = method.find_buffer(state.name);
    if (!buffer.has_value() || buffer->empty()) {
      continue;
    }
    const std::optional<Range> range = range_in(arena, *buffer);
    if (!range.has_value()) {
      return misplaced(state.name, "lies outside of the arena that the methods share");
    }
    if (found.has_value() && found != range) {
      return misplaced(state.name, "is at byte " + std::to_string(found->first) +
                                       " of the arena in one method, at " +
                                       std::to_string(range->first) + " in another");
    }
    found = range;
  }
  const std::size_t bytes =
      element_count(state.dtype, state.shape).value_or(0) * size_of(state.dtype);
  if (found.value_or(Range{0, 0}).end - found.value_or(Range{0, 0}).first != bytes) {
    return misplaced(state.name, "of " + std::to_string(bytes) + " bytes is in no method");
  }
  return found.value_or(Range{0, 0});
}

Status check_apart(const Manifest& manifest, const std::vector<Range>& ranges) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].end > ranges[i].first) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return ranges[i].first; });
  for (std::size_t k = 1; k < order.size(); ++k) {
    if (ranges[order[k]].first < ranges[order[k - 1]].end) {
      return misplaced(manifest.state[order[k]].name,
                       "overlaps state '" + manifest.state[order[k - 1]].name + "'");
    }
  }
  return {};
}

}  // namespace

Result<StateLayout> read_state_layout(const Manifest& manifest, std::span<LoadedMethod> methods,
                                      const Arena& arena) {
  std::vector<Range> ranges;
  for (const StateSpec& state : manifest.state) {
    Result<Range> range = find_state(state, methods, arena);
    if (!range) return range.error();
    ranges.push_back(*range);
  }
  if (const Status apart = check_apart(manifest, ranges); !apart) return apart.error();
  std::vector<StatePlace> places;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    StatePlace place{ranges[i].first, ranges[i].end - ranges[i].first, {}};
    if (!manifest.state[i].zeros) {
      const auto bytes = arena.bytes().subspan(place.offset, place.size);
      place.initial.assign(bytes.begin(), bytes.end());
    }
    places.push_back(std::move(place));
  }
  return StateLayout(std::move(places));
}

}  // namespace polystate
