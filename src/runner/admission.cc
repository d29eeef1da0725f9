#include "runner/admission.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace polystate {

std::size_t count_admitted(std::span<const Demand> waiting, const FreeCapacity& free) {
  Demand total{};
  std::int64_t longest = 0;
  for (std::size_t count = 0; count < waiting.size(); ++count) {
    const Demand& next = waiting[count];
    total.rows += next.rows;
    total.pages += next.pages;
    total.source_pages += next.source_pages;
    longest = std::max(longest, next.source_tokens);
    const auto sources = static_cast<std::int64_t>(count) + 1;
    const bool fits = total.rows <= free.rows && total.pages <= free.pages &&
                      total.source_pages <= free.source_pages;
    const bool fits_encoder =
        sources == 1 || (sources <= free.sources && longest * sources <= free.source_tokens);
    if (!fits || !fits_encoder) return count;
  }
  return waiting.size();
}

std::int64_t pages_needed(std::int64_t rows, std::int64_t prompt_length, std::int64_t max_length,
                          std::int64_t page_size) {
  const std::int64_t shared = (prompt_length - 1) / page_size;
  const std::int64_t all = (max_length + page_size - 1) / page_size;
  return shared + rows * (all - shared);
}

}  // namespace polystate
