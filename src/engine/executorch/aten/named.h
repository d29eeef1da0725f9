#pragma once

#include <array>
#include <cstddef>

#include "kernels/operator_schema.h"

namespace polystate {

inline constexpr char kAtenNamespace[] = "aten::";
inline constexpr char kOwnNamespace[] = "polystate_aten::";
inline constexpr char kFasterNamespace[] = "polystate_faster::";

// Texts in one, without their ends.
template <std::size_t... kSizes>
constexpr auto joined(const char (&... texts)[kSizes]) {
  std::array<char, (kSizes + ...) - sizeof...(kSizes)> result{};
  std::size_t at = 0;
  const auto append = [&](const char* text, std::size_t size) {
    for (std::size_t i = 0; i + 1 < size; ++i) result[at++] = text[i];
  };
  (append(texts, kSizes), ...);
  return result;
}

// What an operator has whose schema is made of parts: a namespace, a name and the rest.
template <const auto&... kParts>
struct Named {
  static constexpr auto kText = joined(kParts...);
  static constexpr OperatorSchema kSchema{{kText.data(), kText.size()}};
};

}  // namespace polystate
