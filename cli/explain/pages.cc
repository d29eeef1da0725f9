#include "cli/explain/pages.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kColumn = 32;  // past the longest name

// The third line of a page, behind its heading.
std::string_view title(std::string_view text) {
  const std::size_t begin = std::min(text.find("\n\n"), text.size());
  const std::string_view rest = text.substr(std::min(begin + 2, text.size()));
  return rest.substr(0, rest.find('\n'));
}

// Whether a page is about a word that the user has written.
bool is_like(const ExamplePage& page, std::string_view name) {
  return !name.empty() && page.name.find(name) != std::string_view::npos;
}

}  // namespace

Result<std::string_view> example_page(std::string_view name) {
  const auto pages = example_pages();
  const auto found = std::ranges::find(pages, name, &ExamplePage::name);
  if (found != pages.end()) return found->text;
  std::string like;
  for (const ExamplePage& page : pages) {
    if (is_like(page, name)) like.append(like.empty() ? "" : ", ").append(page.name);
  }
  return Error{ErrorCode::kContract,
               "there is no example '" + std::string(name) + "'; " +
                   (like.empty() ? "polystate explain lists all" : "there are " + like)};
}

std::string example_list() {
  std::string list;
  for (const ExamplePage& page : example_pages()) {
    const std::size_t spaces = kColumn - std::min(page.name.size(), kColumn - 1);
    list.append(page.name).append(spaces, ' ').append(title(page.text)).append("\n");
  }
  return list;
}

}  // namespace polystate::cli
