#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace polystate {

// Of a polynomial or a series, in the type that it is computed in, the last one first.
template <typename T, std::size_t kCount>
constexpr std::array<T, kCount> coefficients(const double (&values)[kCount]) {
  std::array<T, kCount> result{};
  for (std::size_t i = 0; i < kCount; ++i) result[i] = static_cast<T>(values[i]);
  return result;
}

// Calls `add` with each factor from `kFirst` on. It is written as so many calls: a loop within the
// loop over a tensor's elements may keep the compiler from computing several of them at once.
template <std::size_t kFirst, typename T, std::size_t kCount, typename Add>
void each_factor(const std::array<T, kCount>& factors, const Add& add) {
  [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    (add(factors[kFirst + kIndices]), ...);
  }(std::make_index_sequence<kCount - kFirst>());
}

// By Horner's rule.
template <typename T, std::size_t kCount>
T polynomial(const std::array<T, kCount>& factors, T x) {
  T result = 0;
  each_factor<0>(factors, [&](T factor) { result = result * x + factor; });
  return result;
}

// The first of a series' factors that matters to a sum of their type.
template <typename T, std::size_t kCount>
constexpr std::size_t first_that_matters(const std::array<T, kCount>& factors) {
  constexpr T kLeast = std::numeric_limits<T>::epsilon() / 1000;
  std::size_t first = 0;
  while (factors[first] < kLeast && factors[first] > -kLeast) ++first;
  return first;
}

// A series of Chebyshev's polynomials at x / 2, the first one halved, by Clenshaw's recurrence.
template <const auto& kFactors, typename T>
T chebyshev_series(T x) {
  T last = 0;
  T before = 0;
  T result = 0;
  each_factor<first_that_matters(kFactors)>(kFactors, [&](T factor) {
    before = last;
    last = result;
    result = x * last - before + factor;
  });
  return T{0.5} * (result - before);
}

}  // namespace polystate
