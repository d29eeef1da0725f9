#include "tokenizer/models/trie.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace polystate::tokenizer {

// Places nodes one after the other; `entries` are sorted.
struct Trie::Builder {
  // Entries [begin, end) go through `node`, which is `depth` bytes below the root.
  struct Work {
    Node node;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t depth;
  };

  void place(const Work& work) {
    std::uint32_t i = work.begin;
    while (i < work.end && entries[i].first.size() == work.depth) {
      if (work.depth > 0) set_value(work.node, entries[i].second);
      ++i;
    }
    if (i == work.end) return;

    children.clear();
    while (i < work.end) {
      const auto label = static_cast<unsigned char>(entries[i].first[work.depth]);
      std::uint32_t next = i;
      while (next < work.end &&
             static_cast<unsigned char>(entries[next].first[work.depth]) == label) {
        ++next;
      }
      children.push_back({label, i, next});
      i = next;
    }
    const Node base = free_base();
    units[work.node].base = base;
    for (const Child& child : children) {
      const Node node = base ^ child.label;
      units[node].value_and_label = child.label;
      pending.push_back({node, child.begin, child.end, work.depth + 1});
    }
  }

  void set_value(Node node, std::uint32_t value) {
    assert(value <= kMaxValue);
    std::uint32_t& unit = units[node].value_and_label;
    unit = (value + 1) << kLabelBits | (unit & kLabelMask);
  }

  bool is_free(Node node) const {
    return (units[node].value_and_label & kLabelMask) == kFree && node != kRoot;
  }

  // A base that no node has and that leaves every child a free unit.
  Node free_base() {
    for (Node unit = first_free;; ++unit) {
      if (unit + 512 > units.size()) {
        units.resize(units.size() + units.size() / 2 + 512);
        used_bases.resize(units.size());
      }
      if (!is_free(unit)) {
        if (unit == first_free) ++first_free;
        continue;
      }
      const Node base = unit ^ children[0].label;
      if (base < units.size() && !used_bases[base] &&
          std::all_of(
              children.begin(), children.end(),
              [&](const Child& child) { return is_free(base ^ child.label); })) {
        used_bases[base] = true;
        return base;
      }
      // A region that is nearly full is not searched again and again.
      if (unit - first_free > 4096) first_free += 256;
    }
  }

  struct Child {
    unsigned char label;
    std::uint32_t begin;
    std::uint32_t end;
  };

  const std::vector<std::pair<std::string_view, std::uint32_t>>& entries;
  std::vector<Unit>& units;
  std::vector<bool> used_bases = std::vector<bool>(256);
  std::vector<Child> children = {};
  std::vector<Work> pending = {};
  Node first_free = 1;
};

Trie Trie::build(std::vector<std::pair<std::string_view, std::uint32_t>> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Trie trie;
  Builder builder{entries, trie.units_};
  builder.used_bases[0] = true;  // the base of nodes without children
  builder.pending.push_back({kRoot, 0, static_cast<std::uint32_t>(entries.size()), 0});
  // Level by level, so that what is walked most lies together.
  for (std::size_t next = 0; next < builder.pending.size(); ++next) {
    const Builder::Work work = builder.pending[next];
    builder.place(work);
  }
  trie.units_.resize((trie.units_.size() | 0xFFU) + 1);
  return trie;
}

}  // namespace polystate::tokenizer
