#include "kernels/attention/page_copies.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kernels/check_failure.h"
#include "kernels/requirements.h"

namespace polystate {

void PageCopies::require(Requirements& require) const {
  require.integers(source, 1);
  require.integers(target, 1);
  require.shape(target, {source.tensor.size(0)});
}

std::optional<std::string> PageCopies::conflict() const {
  const std::span sources = integers_of(source.tensor);
  const std::span targets = integers_of(target.tensor);
  const std::unordered_set<std::int64_t> is_source(sources.begin(), sources.end());
  std::unordered_map<std::int64_t, std::int64_t> source_of;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t page = targets[i];
    if (is_source.contains(page)) {
      return "page " + std::to_string(page) + " is both a source and a target";
    }
    const std::int64_t first = source_of.try_emplace(page, sources[i]).first->second;
    if (first != sources[i]) {
      return "page " + std::to_string(page) + " is the target of pages " + std::to_string(first) +
             " and " + std::to_string(sources[i]);
    }
  }
  return std::nullopt;
}

std::optional<CheckFailure> check_page_copies(const PageCopies& copies, std::int64_t id) {
  std::optional<std::string> fault = copies.conflict();
  if (!fault) return std::nullopt;
  return CheckFailure{id, *std::move(fault)};
}

}  // namespace polystate
