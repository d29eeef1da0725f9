#include "view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"

namespace polystate::python {
namespace {

bool is_empty(const View& view) {
  return std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

// How many of the first dimensions have to be walked: the rest of each index is one dense run.
std::size_t walked_dimensions(const View& view) {
  auto run = static_cast<std::int64_t>(size_of(view.dtype));
  std::size_t count = view.shape.size();
  while (count > 0 && (view.shape[count - 1] == 1 || view.strides[count - 1] == run)) {
    run *= view.shape[--count];
  }
  return count;
}

// Calls `visit` with every dense run's distance from the first element and its size, both in bytes,
// in row-major order.
template <typename Visit>
void for_each_run(const View& view, Visit visit) {
  if (is_empty(view)) return;
  const std::size_t walked = walked_dimensions(view);
  std::size_t bytes = size_of(view.dtype);
  for (std::size_t i = walked; i < view.shape.size(); ++i) bytes *= view.shape[i];
  std::vector<std::int64_t> index(walked, 0);
  std::int64_t offset = 0;
  while (true) {
    visit(offset, bytes);
    std::size_t dimension = walked;
    while (dimension > 0 && index[dimension - 1] == view.shape[dimension - 1] - 1) {
      --dimension;
      offset -= index[dimension] * view.strides[dimension];
      index[dimension] = 0;
    }
    if (dimension == 0) return;
    ++index[dimension - 1];
    offset += view.strides[dimension - 1];
  }
}

std::uintptr_t address(const View& view, std::int64_t offset) {
  return reinterpret_cast<std::uintptr_t>(view.data + offset);
}

// The first and the last address that the elements, of which there are some, lie at.
std::pair<std::uintptr_t, std::uintptr_t> reach_of(const View& view) {
  std::int64_t low = 0;
  std::int64_t high = static_cast<std::int64_t>(size_of(view.dtype)) - 1;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::int64_t step = (view.shape[i] - 1) * view.strides[i];
    (step < 0 ? low : high) += step;
  }
  return {address(view, low), address(view, high)};
}

}  // namespace

bool is_dense(const View& view) {
  if (reinterpret_cast<std::uintptr_t>(view.data) % alignment_of(view.dtype) != 0) return false;
  return is_empty(view) || walked_dimensions(view) == 0;
}

bool may_overlap(const View& view) {
  if (is_empty(view)) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride and size, from the closest
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1) steps.emplace_back(std::abs(view.strides[i]), view.shape[i]);
  }
  std::sort(steps.begin(), steps.end());
  auto reach = static_cast<std::int64_t>(size_of(view.dtype));
  for (const auto& [stride, size] : steps) {
    if (stride < reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

bool share_memory(const View& a, const View& b) {
  if (is_empty(a) || is_empty(b)) return false;
  const auto [first_of_a, last_of_a] = reach_of(a);
  const auto [first_of_b, last_of_b] = reach_of(b);
  if (last_of_a < first_of_b || last_of_b < first_of_a) return false;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> runs;  // of a, as first and last address
  for_each_run(a, [&](std::int64_t offset, std::size_t bytes) {
    runs.emplace_back(address(a, offset), address(a, offset) + bytes - 1);
  });
  std::sort(runs.begin(), runs.end());
  bool found = false;
  for_each_run(b, [&](std::int64_t offset, std::size_t bytes) {
    const std::uintptr_t first = address(b, offset);
    const auto next = std::lower_bound(runs.begin(), runs.end(), std::pair(first, first));
    found = found || (next != runs.end() && next->first <= first + bytes - 1) ||
            (next != runs.begin() && std::prev(next)->second >= first);
  });
  return found;
}

void gather(const View& view, std::byte* dense) {
  for_each_run(view, [&](std::int64_t offset, std::size_t bytes) {
    std::memcpy(dense, view.data + offset, bytes);
    dense += bytes;
  });
}

void scatter(const std::byte* dense, const View& view) {
  for_each_run(view, [&](std::int64_t offset, std::size_t bytes) {
    std::memcpy(view.data + offset, dense, bytes);
    dense += bytes;
  });
}

}  // namespace polystate::python
