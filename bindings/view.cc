#include "view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"

namespace polystate::python {
namespace {

bool is_empty(const View& view) {
  return std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

// Calls `visit` with every element's distance from the first, in bytes, in row-major order.
template <typename Visit>
void for_each_element(const View& view, Visit visit) {
  if (is_empty(view)) return;
  std::vector<std::int64_t> index(view.shape.size(), 0);
  std::int64_t offset = 0;
  while (true) {
    visit(offset);
    std::size_t dimension = index.size();
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

}  // namespace

bool is_dense(const View& view) {
  const auto element = static_cast<std::int64_t>(size_of(view.dtype));
  if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) != 0) return false;
  if (is_empty(view)) return true;
  std::int64_t expected = element;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
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

void gather(const View& view, std::byte* dense) {
  const std::size_t bytes = size_of(view.dtype);
  for_each_element(view, [&](std::int64_t offset) {
    std::memcpy(dense, view.data + offset, bytes);
    dense += bytes;
  });
}

void scatter(const std::byte* dense, const View& view) {
  const std::size_t bytes = size_of(view.dtype);
  for_each_element(view, [&](std::int64_t offset) {
    std::memcpy(view.data + offset, dense, bytes);
    dense += bytes;
  });
}

}  // namespace polystate::python
