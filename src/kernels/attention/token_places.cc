#include "kernels/attention/token_places.h"

#include <algorithm>
#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace polystate {
namespace {

struct Taken {
  std::int64_t page;
  std::int64_t slot;
  std::size_t token;

  auto operator<=>(const Taken&) const = default;
  [[nodiscard]] bool is_beside(const Taken& other) const {
    return page == other.page && slot == other.slot;
  }
};

std::string not_between(std::int64_t value, std::int64_t high) {
  return std::to_string(value) + ", which is not between 0 and " + std::to_string(high);
}

// What is wrong with a token's row or position.
std::optional<std::string> outside(const TokenPlaces& places, std::size_t token) {
  const std::int64_t row = places.rows[token];
  const std::int64_t position = places.positions[token];
  const std::string label = "token " + std::to_string(token);
  if (row < 0 || row >= places.table_rows) {
    return label + " is of row " + not_between(row, places.table_rows - 1);
  }
  if (position < 0 || position / places.page >= places.row_pages) {
    return label + " is at position " + not_between(position, places.row_pages * places.page - 1);
  }
  return std::nullopt;
}

// The places of the first `count` tokens, those of one place side by side.
std::vector<Taken> sorted_places(const TokenPlaces& places, std::size_t count) {
  std::vector<Taken> taken;
  taken.reserve(count);
  for (std::size_t token = 0; token < count; ++token) {
    const std::int64_t position = places.positions[token];
    const std::int64_t entry = places.rows[token] * places.row_pages + position / places.page;
    taken.push_back(
        {places.page_table[static_cast<std::size_t>(entry)], position % places.page, token});
  }
  std::ranges::sort(taken);
  return taken;
}

}  // namespace

std::optional<std::string> misplaced(const TokenPlaces& places) {
  assert(places.page > 0);
  std::optional<std::string> fault;
  std::size_t count = 0;
  while (count < places.rows.size() && !fault) {
    fault = outside(places, count);
    if (!fault) ++count;
  }
  const std::vector<Taken> taken = sorted_places(places, count);
  std::size_t first = count;
  for (std::size_t i = 1; i < count; ++i) {
    if (taken[i].is_beside(taken[i - 1]) && taken[i].token < first) {
      first = taken[i].token;
      fault = "tokens " + std::to_string(taken[i - 1].token) + " and " + std::to_string(first) +
              " both go to slot " + std::to_string(taken[i].slot) + " of page " +
              std::to_string(taken[i].page);
    }
  }
  return fault;
}

}  // namespace polystate
