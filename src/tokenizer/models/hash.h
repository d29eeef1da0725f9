#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace polystate::tokenizer {

// Mixes 64 bits into 64 (the finalizer of MurmurHash3 is of this kind: multiply and fold).
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t product = (a ^ 0x9E3779B97F4A7C15U) * (b ^ 0xD6E8FEB86659FD93U);
  return product ^ std::rotl(product, 32);
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
