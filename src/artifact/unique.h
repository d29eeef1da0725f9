#pragma once

#include <cstddef>
#include <functional>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "core/json_cursor.h"
#include "core/text.h"

namespace polystate {

// Reports an element of the array `at` whose `key` (called `what`) an earlier one has too. `items`
// are what was read from it.
template <typename Item, typename Key>
void expect_unique(const JsonCursor& at, const std::vector<Item>& items, const char* what,
                   Key key) {
  std::map<std::decay_t<std::invoke_result_t<Key, const Item&>>, std::size_t> first;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto [other, is_new] = first.emplace(std::invoke(key, items[i]), i);
    if (is_new) continue;
    std::ostringstream shown;
    shown.imbue(std::locale::classic());
    shown << other->first;
    return at.element(i).fail(std::string("the ") + what + " " + in_quotes(shown.str()) +
                              " is that of element " + std::to_string(other->second) + " too");
  }
}

}  // namespace polystate
