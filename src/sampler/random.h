#pragma once

#include <cstdint>

#include "polystate/sampler/sampler.h"

namespace polystate::sampler {

// One step of SplitMix64's output function (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014): every bit of the result depends on every bit of `value`.
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// A number in [0, 1) with 53 random bits, which depends on the place and on nothing else. A place
// that needs several numbers counts them with `draw`.
constexpr double uniform(const SamplePlace& place, std::uint64_t draw = 0) {
  const std::uint64_t sequence = mix(mix(place.seed) ^ place.sequence);
  const std::uint64_t bits = mix(mix(sequence ^ place.step) ^ draw);
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

}  // namespace polystate::sampler
