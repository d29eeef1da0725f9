#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace polystate {

// Unsigned numbers in little-endian files. The bytes must be there.

template <typename T>
T load_little_endian(std::span<const std::byte> bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value =
        static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[offset + i]) << (8 * i)));
  }
  return value;
}

inline std::uint16_t load_u16(std::span<const std::byte> bytes, std::size_t offset) {
  return load_little_endian<std::uint16_t>(bytes, offset);
}
inline std::uint32_t load_u32(std::span<const std::byte> bytes, std::size_t offset) {
  return load_little_endian<std::uint32_t>(bytes, offset);
}
inline std::uint64_t load_u64(std::span<const std::byte> bytes, std::size_t offset) {
  return load_little_endian<std::uint64_t>(bytes, offset);
}

template <typename T>
void append_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(static_cast<unsigned char>(std::uint64_t{value} >> (8 * i)));
  }
}

inline void append_u16(std::string& out, std::uint16_t value) { append_little_endian(out, value); }
inline void append_u32(std::string& out, std::uint32_t value) { append_little_endian(out, value); }

}  // namespace polystate
