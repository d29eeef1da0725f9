#include "runner/admission.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace polystate {

std::size_t count_admitted(std::span<const Demand> waiting, const FreeCapacity& free) {
  Demand total{};
  std::vector<std::int64_t> pages(free.pages.size(), 0);  // of each kind
  std::int64_t longest = 0;
  for (std::size_t count = 0; count < waiting.size(); ++count) {
    const Demand& next = waiting[count];
    total.rows += next.rows;
    for (std::size_t kind = 0; kind < pages.size(); ++kind) {
      pages[kind] += pages_of_kind(next, free.pages[kind].row_pages);
    }
    total.source_pages += next.source_pages;
    longest = std::max(longest, next.source_tokens);
    const auto sources = static_cast<std::int64_t>(count) + 1;
    const bool has_pages =
        std::ranges::equal(pages, free.pages, std::ranges::less_equal(), {}, &FreePages::pages);
    const bool fits =
        total.rows <= free.rows && has_pages && total.source_pages <= free.source_pages;
    const bool fits_encoder =
        sources == 1 || (sources <= free.sources && longest * sources <= free.source_tokens);
    if (!fits || !fits_encoder) return count;
  }
  return waiting.size();
}

std::int64_t pages_of_kind(const Demand& demand, std::int64_t row_pages) {
  return std::min(demand.pages, demand.rows * row_pages);
}

std::int64_t pages_needed(std::int64_t rows, std::int64_t prompt_length, std::int64_t max_length,
                          std::int64_t page_size) {
  const std::int64_t shared = (prompt_length - 1) / page_size;
  const std::int64_t all = (max_length + page_size - 1) / page_size;
  return shared + rows * (all - shared);
}

}  // namespace polystate
