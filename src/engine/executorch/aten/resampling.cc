#include "engine/executorch/aten/resampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace polystate {
namespace {

// Elements for each result.
template <typename C>
C distance(const Resampling& way) {
  if (way.align_corners) {
    return way.results > 1 ? static_cast<C>(way.size - 1) / static_cast<C>(way.results - 1) : C{0};
  }
  if (way.scale && *way.scale > 0) return static_cast<C>(1.0 / *way.scale);
  return static_cast<C>(way.size) / static_cast<C>(way.results);
}

// Where a result lies between elements. All but cubic resampling takes what is before the first one
// as the first one.
template <typename C>
C place_of(C distance, std::int64_t result, bool align_corners, bool is_cubic) {
  if (align_corners) return distance * static_cast<C>(result);
  const C place = distance * (static_cast<C>(result) + C(0.5)) - C(0.5);
  return !is_cubic && place < 0 ? C{0} : place;
}

// The numbers of a program may be any: a place is one of a dimension's.
template <typename C>
std::int64_t floor_within(C place, std::int64_t low, std::int64_t size) {
  const C whole = std::floor(place);
  if (!(whole > static_cast<C>(low))) return low;
  return whole < static_cast<C>(size) ? std::min(static_cast<std::int64_t>(whole), size - 1)
                                      : size - 1;
}

template <typename C>
void add_nearest(const Resampling& way, Taps<C>& taps) {
  const bool is_exact = way.method == ResamplingMethod::kNearestExact;
  const C by = distance<C>(way);
  if (way.repeats_elements && (way.results == way.size || way.results == 2 * way.size)) {
    for (std::int64_t i = 0; i < way.results; ++i)
      taps.places.push_back(i * way.size / way.results);
    taps.weights.assign(taps.places.size(), C{1});
    return;
  }
  for (std::int64_t i = 0; i < way.results; ++i) {
    const C place = place_of(by, i, !is_exact, false) + (is_exact ? C(0.5) : C{0});
    // PyTorch takes the floor of a float, of doubles too.
    taps.places.push_back(floor_within(static_cast<float>(place), 0, way.size));
    taps.weights.push_back(C{1});
  }
}

template <typename C>
void add_linear(const Resampling& way, Taps<C>& taps) {
  const C by = distance<C>(way);
  for (std::int64_t i = 0; i < way.results; ++i) {
    if (way.size == way.results) {
      taps.places.insert(taps.places.end(), {i, i});
      taps.weights.insert(taps.weights.end(), {C{1}, C{0}});
      continue;
    }
    const C place = place_of(by, i, way.align_corners, false);
    const std::int64_t first = floor_within(place, 0, way.size);
    const C part = std::clamp(place - static_cast<C>(first), C{0}, C{1});
    taps.places.insert(taps.places.end(), {first, std::min(first + 1, way.size - 1)});
    taps.weights.insert(taps.weights.end(), {C{1} - part, part});
  }
}

// Keys' cubic convolution, of the distance from an element.
template <typename C>
C cubic_weight(C x, C a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : C{0};
}

template <typename C>
void add_cubic(const Resampling& way, Taps<C>& taps) {
  const C by = distance<C>(way);
  for (std::int64_t i = 0; i < way.results; ++i) {
    const C place = place_of(by, i, way.align_corners, true);
    const std::int64_t first = floor_within(place, -1, way.size);
    const C part = std::clamp(place - static_cast<C>(first), C{0}, C{1});
    for (std::int64_t tap = -1; tap < 3; ++tap) {
      taps.places.push_back(std::clamp<std::int64_t>(first + tap, 0, way.size - 1));
      taps.weights.push_back(cubic_weight(part - static_cast<C>(tap), C(-0.75)));
    }
  }
}

// The elements that a result covers, weighted by `weight` of their distances in results.
template <typename C, typename Weight>
void add_smooth(const Resampling& way, C reach, const Weight& weight, Taps<C>& taps) {
  const C by = distance<C>(way);
  const C stretch = std::max(by, C{1});
  const C support = reach * stretch;
  for (std::int64_t i = 0; i < way.results; ++i) {
    const C center = by * (static_cast<C>(i) + C(0.5));
    const std::int64_t first = floor_within(center - support + C(0.5), 0, way.size);
    const std::int64_t last =
        std::max(first, floor_within(center + support + C(0.5), 0, way.size + 1));
    const std::int64_t count = std::min(last - first, taps.taps);
    const std::size_t begin = taps.weights.size();
    C total{0};
    // Elements at the ends without a weight are none of it, whatever they are.
    for (std::int64_t place = first; place < first + count; ++place) {
      const C found = weight((static_cast<C>(place) - center + C(0.5)) / stretch);
      if (found == 0 && taps.weights.size() == begin) continue;
      taps.places.push_back(place);
      taps.weights.push_back(found);
      total += found;
    }
    while (taps.weights.size() > begin && taps.weights.back() == 0) {
      taps.weights.pop_back();
      taps.places.pop_back();
    }
    for (std::size_t at = begin; total != 0 && at < taps.weights.size(); ++at) {
      taps.weights[at] /= total;
    }
    taps.counts.push_back(static_cast<std::int64_t>(taps.weights.size() - begin));
    taps.places.resize(taps.counts.size() * static_cast<std::size_t>(taps.taps));
    taps.weights.resize(taps.places.size());
  }
}

}  // namespace

bool picks_elements(ResamplingMethod method) {
  return method == ResamplingMethod::kNearest || method == ResamplingMethod::kNearestExact;
}

template <typename C>
std::int64_t taps_of(const Resampling& way) {
  switch (way.method) {
    case ResamplingMethod::kNearest:
    case ResamplingMethod::kNearestExact:
      return 1;
    case ResamplingMethod::kLinear:
      return 2;
    case ResamplingMethod::kCubic:
      return 4;
    case ResamplingMethod::kSmoothLinear:
    case ResamplingMethod::kSmoothCubic:
      break;
  }
  const C reach = way.method == ResamplingMethod::kSmoothLinear ? C{1} : C{2};
  const C support = std::ceil(reach * std::max(distance<C>(way), C{1}));
  // No more elements than there are.
  return support < static_cast<C>(way.size)
             ? std::min(static_cast<std::int64_t>(support) * 2 + 1, way.size)
             : way.size;
}

template <typename C>
Taps<C> taps_along(const Resampling& way) {
  Taps<C> taps{.size = way.size, .results = way.results, .taps = taps_of<C>(way)};
  switch (way.method) {
    case ResamplingMethod::kNearest:
    case ResamplingMethod::kNearestExact:
      add_nearest(way, taps);
      break;
    case ResamplingMethod::kLinear:
      add_linear(way, taps);
      break;
    case ResamplingMethod::kCubic:
      add_cubic(way, taps);
      break;
    case ResamplingMethod::kSmoothLinear:
      add_smooth(way, C{1}, [](C x) { return std::max(C{0}, C{1} - std::abs(x)); }, taps);
      break;
    case ResamplingMethod::kSmoothCubic:
      add_smooth(way, C{2}, [](C x) { return cubic_weight(x, C(-0.5)); }, taps);
      break;
  }
  return taps;
}

template std::int64_t taps_of<float>(const Resampling&);
template std::int64_t taps_of<double>(const Resampling&);
template Taps<float> taps_along<float>(const Resampling&);
template Taps<double> taps_along<double>(const Resampling&);

}  // namespace polystate
