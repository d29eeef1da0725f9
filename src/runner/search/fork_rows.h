#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/search/search.h"

namespace polystate {

// What the rows of the next step have of `rows`, the present ones: each what its parent has. The
// last row that goes on from a parent takes it, the others `fork()` it, which may fail.
template <typename Row>
Result<std::vector<Row>> fork_rows(std::span<const Continuation> next, std::vector<Row>& rows) {
  std::vector<std::size_t> uses(rows.size(), 0);
  for (const Continuation& row : next) ++uses[row.parent];
  std::vector<Row> forked;
  forked.reserve(next.size());
  for (const Continuation& row : next) {
    Row& parent = rows[row.parent];
    if (--uses[row.parent] == 0) {
      forked.push_back(std::move(parent));
    } else {
      Result<Row> fork = parent.fork();
      if (!fork) return fork.error();
      forked.push_back(std::move(*fork));
    }
  }
  return forked;
}

}  // namespace polystate
