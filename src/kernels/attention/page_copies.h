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

  // Says which page is both a source and a target, or the target of two pages, the first target
  // that is; nothing where there is none.
  [[nodiscard]] std::optional<std::string> conflict() const;
};

// The failure of check `id`, that pages can be copied in any order.
std::optional<CheckFailure> check_page_copies(const PageCopies& copies, std::int64_t id);

}  // namespace polystate
