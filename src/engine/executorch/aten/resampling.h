#pragma once

#include <cstdint>
#include <optional>
#include <vector>

// How a dimension gets another size: each result is a weighted sum of some of its elements.
namespace polystate {

enum class ResamplingMethod : std::uint8_t {
  kNearest,
  kNearestExact,
  kLinear,
  kCubic,
  kSmoothLinear,  // of all elements that a result covers, where it has fewer ("antialias")
  kSmoothCubic,
};

// Whether a result is an element, not a sum of some.
bool picks_elements(ResamplingMethod method);

// How one dimension is resampled.
struct Resampling {
  ResamplingMethod method;
  std::int64_t size = 0;
  std::int64_t results = 0;
  bool align_corners = false;
  std::optional<double> scale;  // results for each element, as the caller has it
  // Whether the nearest element is that of the sizes, whatever the scale, for as many results as
  // there are elements or twice as many: PyTorch has it so for small planes.
  bool repeats_elements = false;
};

// What elements of a dimension each result is made of, with a weight each. A weight of zero counts,
// as zero times infinity is no number.
template <typename C>
struct Taps {
  std::int64_t size = 0;
  std::int64_t results = 0;
  std::int64_t taps = 1;               // of a result at most
  std::vector<std::int64_t> places{};  // [results, taps]
  std::vector<C> weights{};            // the same
  std::vector<std::int64_t> counts{};  // how many taps each result has; empty: all
};

// How many elements a result is made of at most.
template <typename C>
std::int64_t taps_of(const Resampling& way);

// What each result is made of, computed in float or double.
template <typename C>
Taps<C> taps_along(const Resampling& way);

extern template std::int64_t taps_of<float>(const Resampling&);
extern template std::int64_t taps_of<double>(const Resampling&);
extern template Taps<float> taps_along<float>(const Resampling&);
extern template Taps<double> taps_along<double>(const Resampling&);

}  // namespace polystate
