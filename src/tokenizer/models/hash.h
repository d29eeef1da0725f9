#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace polystate::tokenizer {

// Mixes two words into one: each value of either gives another one where the other is the same. It
// multiplies and folds, as the finalizer of splitmix64 does.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t mixed = a * 0x9E3779B97F4A7C15U + b;
  mixed ^= mixed >> 32U;
  mixed *= 0xD6E8FEB86659FD93U;
  return mixed ^ mixed >> 32U;
}

// A hash of bytes for tables that live in this process.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = 0x243F6A8885A308D3U ^ bytes.size();
  const char* data = bytes.data();
  std::size_t size = bytes.size();
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t block = 0;
    std::memcpy(&block, data, 8);
    hash = mix(hash, block);
  }
  if (size > 0) {
    std::uint64_t block = 0;
    std::memcpy(&block, data, size);
    hash = mix(hash, block | std::uint64_t{size} << 56U);
  }
  return hash ^ hash >> 29U;
}

}  // namespace polystate::tokenizer
