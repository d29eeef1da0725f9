#include "engine/executorch/aten/order_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "kernels/tensor_argument.h"

namespace polystate {
namespace {

template <std::size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <typename T>
using Bits = UnsignedOf<sizeof(T)>;

// The bits of infinity, above which only those of NaN are.
template <typename T>
constexpr Bits<T> kInfinityBits = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
template <>
constexpr Bits<Float16> kInfinityBits<Float16> = 0x7C00;
template <>
constexpr Bits<BFloat16> kInfinityBits<BFloat16> = 0x7F80;

template <typename Key, typename T>
Key key_of(T x) {
  constexpr auto kSign = static_cast<Bits<T>>(Bits<T>{1} << (8 * sizeof(T) - 1));
  if constexpr (kIsFloat<T>) {
    const auto bits = std::bit_cast<Bits<T>>(x);
    const auto magnitude = static_cast<Bits<T>>(bits & static_cast<Bits<T>>(~kSign));
    if (magnitude > kInfinityBits<T>) return std::numeric_limits<Key>::max();
    // Zero is in the middle. Below it are negative numbers, those of larger magnitudes first.
    return bits == magnitude ? static_cast<Key>(kSign + magnitude)
                             : static_cast<Key>(kSign - magnitude);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<Bits<T>>(x) ^ kSign);
  } else {
    return static_cast<Key>(x);
  }
}

// From so many elements on, distributing by each digit takes less time than comparing.
constexpr std::size_t kFewestDistributed = 256;

constexpr std::size_t kDigits = 256;  // a byte of the key each

using Counts = std::array<std::size_t, kDigits>;

template <typename Key>
std::size_t digit(Key key, std::size_t index) {
  return static_cast<std::size_t>(key >> (8 * index)) % kDigits;
}

// Moves elements to the places that a digit of their keys gives them, in their order where it is
// the same.
template <typename Key>
void distribute(const std::vector<Placed<Key>>& placed, std::size_t index, Counts& counts,
                std::vector<Placed<Key>>& to) {
  std::size_t first = 0;
  for (std::size_t& count : counts) first += std::exchange(count, first);
  for (const Placed<Key>& each : placed) to[counts[digit(each.key, index)]++] = each;
}

}  // namespace

template <typename Key>
template <typename T>
void OrderKeys<Key>::read_elements(const std::byte* elements, const From& from,
                                   std::vector<Placed<Key>>& placed) {
  const T* next = reinterpret_cast<const T*>(elements) + from.start;
  for (std::size_t i = 0; i < placed.size(); ++i, next += from.step) {
    placed[i] = {.key = key_of<Key>(*next), .place = static_cast<Key>(i)};
  }
}

template <typename Key>
OrderKeys<Key>::OrderKeys(const TensorArgument& tensor)
    : bytes_(tensor.bytes()),
      has_nan_(is_float(tensor.dtype())),
      read_(with_element_type(tensor.dtype(),
                              []<typename T>() -> Read { return &read_elements<T>; })) {}

template <typename Key>
void sort_by_key(std::vector<Placed<Key>>& placed, std::vector<Placed<Key>>& scratch) {
  if (placed.size() < kFewestDistributed) {
    std::ranges::sort(placed, [](const Placed<Key>& a, const Placed<Key>& b) {
      return a.key < b.key || (a.key == b.key && a.place < b.place);
    });
    return;
  }
  std::array<Counts, sizeof(Key)> counts{};
  for (const Placed<Key>& each : placed) {
    for (std::size_t i = 0; i < counts.size(); ++i) ++counts[i][digit(each.key, i)];
  }
  scratch.resize(placed.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i][digit(placed.front().key, i)] == placed.size()) continue;  // all have the same
    distribute(placed, i, counts[i], scratch);
    std::swap(placed, scratch);
  }
}

template class OrderKeys<std::uint32_t>;
template class OrderKeys<std::uint64_t>;
template void sort_by_key(std::vector<Placed<std::uint32_t>>& placed,
                          std::vector<Placed<std::uint32_t>>& scratch);
template void sort_by_key(std::vector<Placed<std::uint64_t>>& placed,
                          std::vector<Placed<std::uint64_t>>& scratch);

}  // namespace polystate
