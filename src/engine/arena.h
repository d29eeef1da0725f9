#pragma once

#include <cstddef>
#include <span>

#include "polystate/core/result.h"

namespace polystate {

// Zeroed memory of which only what is touched costs anything. Kernels that read a little past the
// last element, as XNNPACK's do, find zeros there.
class Arena {
 public:
  // kEngine when the system refuses.
  static Result<Arena> create(std::size_t bytes);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

  // Sets everything to zero and gives the memory back to the system.
  void clear();

 private:
  Arena(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::byte* data_;  // null after a move
  std::size_t size_;
};

}  // namespace polystate
