#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate {

// A SHA-256 digest (FIPS 180-4).
using Sha256 = std::array<std::byte, 32>;

// Hashes bytes as they come.
class Sha256Hasher {
 public:
  Sha256Hasher();

  void update(std::span<const std::byte> bytes);
  // The digest of everything so far; the hasher is of no use afterwards. kEngine when the
  // cryptography library failed at any step (out of memory, or SHA-256 is disabled).
  [[nodiscard]] Result<Sha256> finish();

 private:
  struct Deleter {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Deleter> context_;  // empty after a failure
};

Result<Sha256> sha256_of(std::span<const std::byte> bytes);

// 64 lower-case hex digits, and back; anything else gives nothing.
std::string to_hex(const Sha256& digest);
std::optional<Sha256> sha256_from_hex(std::string_view hex);

}  // namespace polystate
