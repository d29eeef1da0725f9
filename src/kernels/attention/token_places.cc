#include "kernels/attention/token_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/check_failure.h"
#include "kernels/requirements.h"

namespace polystate {
namespace {

struct Taken {
  std::int64_t page;
  std::int64_t slot;
  std::int64_t token;

  auto operator<=>(const Taken&) const = default;
  [[nodiscard]] bool is_at(const Taken& other) const {
    return page == other.page && slot == other.slot;
  }
};

std::string not_between(std::int64_t value, std::int64_t high) {
  return std::to_string(value) + ", which is not between 0 and " + std::to_string(high);
}

// What is wrong with a token's row or position.
std::optional<std::string> outside(const TokenPlaces& places, std::int64_t token) {
  const std::int64_t rows = places.page_table.tensor.size(0);
  const std::int64_t row = places.row(token);
  const std::int64_t position = places.position(token);
  const std::string label = "token " + std::to_string(token);
  if (row < 0 || row >= rows) return label + " of row " + not_between(row, rows - 1);
  if (position < 0 || position / places.page >= places.row_pages()) {
    return label + " at position " + not_between(position, places.row_pages() * places.page - 1);
  }
  return std::nullopt;
}

// The places of the first `count` tokens, those of one place side by side.
std::vector<Taken> sorted_places(const TokenPlaces& places, std::int64_t count) {
  std::vector<Taken> taken;
  taken.reserve(static_cast<std::size_t>(count));
  for (std::int64_t token = 0; token < count; ++token) {
    const std::int64_t position = places.position(token);
    taken.push_back(
        {places.pages_of(token)[position / places.page], position % places.page, token});
  }
  std::ranges::sort(taken);
  return taken;
}

}  // namespace

void TokenPlaces::require(Requirements& require) const {
  require.integers(page_table, 2);
  require.integers(rows, 1);
  require.integers(positions, 1);
  require.shape(positions, {count()});
  require.holds(page > 0 && page <= std::numeric_limits<std::int32_t>::max(),
                "pages of " + std::to_string(page) + " positions");
}

std::optional<std::string> TokenPlaces::misplaced() const {
  std::optional<std::string> fault;
  std::int64_t inside = 0;
  for (; inside < count(); ++inside) {
    fault = outside(*this, inside);
    if (fault) break;
  }
  const std::vector<Taken> taken = sorted_places(*this, inside);
  std::int64_t first = inside;
  for (std::size_t i = 1; i < taken.size(); ++i) {
    const auto& [page, slot, token] = taken[i];
    if (token < first && taken[i].is_at(taken[i - 1])) {
      first = token;
      fault = "tokens " + std::to_string(taken[i - 1].token) + " and " + std::to_string(token) +
              " both at slot " + std::to_string(slot) + " of page " + std::to_string(page);
    }
  }
  return fault;
}

std::optional<CheckFailure> check_places(const TokenPlaces& places, std::int64_t id) {
  std::optional<std::string> fault = places.misplaced();
  if (!fault) return std::nullopt;
  return CheckFailure{id, *std::move(fault)};
}

}  // namespace polystate
