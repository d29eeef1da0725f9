#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/check_failure.h"
#include "kernels/requirements.h"

namespace polystate {

// Pages that become copies of others: page `target[i]` of page `source[i]`.
struct PageCopies {
  NamedTensor source;  // [m]
  NamedTensor target;  // [m]

  // Types and shapes.
  void require(Requirements& require) const;

  // Says of the first target that is also a source, or a target of two pages, which of these it
  // is. Without such a target the result is empty.
  [[nodiscard]] std::optional<std::string> conflict() const;
};

// The failure of check `id`, that pages can be copied in any order.
std::optional<CheckFailure> check_page_copies(const PageCopies& copies, std::int64_t id);

}  // namespace polystate
