#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "runner/cache/page_pool.h"
#include "runner/model/method_session.h"

namespace polystate {

// The method that copies pages of a kind of the sequences' caches.
std::string_view copy_method(std::size_t kind);

// What a token model has in the pages of its sequences' caches, as bytes: so that it can be put
// into other pages, also of another session of the same model.
class CacheContent {
 public:
  // The pools of a kind are the states that its copy_method writes. `session` outlives it.
  CacheContent(const Manifest& manifest, MethodSession& session, std::size_t kinds);

  // Of one page, in all pools of its kind.
  [[nodiscard]] std::size_t page_bytes(std::size_t kind) const;
  // Appends what these pages have: all of one pool, then all of the next.
  Status read(std::size_t kind, std::span<const PageId> pages, std::vector<std::byte>& bytes);
  // Puts into these pages what as many had: page_bytes for each.
  Status write(std::size_t kind, std::span<const PageId> pages, std::span<const std::byte> bytes);

 private:
  struct Pool {
    std::string state;
    DType dtype;
    Shape shape;  // [pages, ...]
  };

  // The shape of so many pages of a pool, and their bytes.
  static Shape shape_of(const Pool& pool, std::size_t pages);
  static std::size_t bytes_of(const Pool& pool, std::size_t pages);

  MethodSession& session_;
  std::vector<std::vector<Pool>> pools_;  // of each kind
};

}  // namespace polystate
