#include "cli/table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/text.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kGap = 2;             // spaces between columns
constexpr std::size_t kNarrowestCell = 12;  // a column that gives way keeps this width

// The bytes of the longest prefix of `word` that fits `width`; at least one character.
std::size_t fitting_prefix(std::string_view word, std::size_t width) {
  std::size_t size = first_character_size(word);
  while (size < word.size()) {
    const std::size_t next = size + first_character_size(word.substr(size));
    if (display_width(word.substr(0, next)) > width) break;
    size = next;
  }
  return size;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const std::size_t space = lines.back().empty() ? 0 : 1;
    if (display_width(lines.back()) + space + display_width(word) <= width) {
      lines.back().append(space, ' ').append(word);
      continue;
    }
    if (!lines.back().empty()) lines.emplace_back();
    std::size_t size = fitting_prefix(word, width);
    while (size < word.size()) {
      lines.back() = word.substr(0, size);
      lines.emplace_back();
      word.remove_prefix(size);
      size = fitting_prefix(word, width);
    }
    lines.back() = word;
  }
  return lines;
}

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::align_right(std::size_t column) { right_aligned_.push_back(column); }

bool Table::is_right_aligned(std::size_t column) const {
  return std::find(right_aligned_.begin(), right_aligned_.end(), column) != right_aligned_.end();
}

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  if (widths.empty()) return widths;
  const std::size_t available = kLineWidth - indent_ - kGap * (widths.size() - 1);
  std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  for (; total > available; --total) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowestCell) break;
    --*widest;
  }
  return widths;
}

void Table::append_row(std::string& out, const std::vector<std::string>& cells,
                       const std::vector<std::size_t>& widths) const {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    wrapped.push_back(wrap(cells[i], widths[i]));
    height = std::max(height, wrapped.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text(indent_, ' ');
    for (std::size_t i = 0; i < wrapped.size(); ++i) {
      const std::string cell = line < wrapped[i].size() ? wrapped[i][line] : "";
      const std::string padding(widths[i] - display_width(cell), ' ');
      text += is_right_aligned(i) ? padding + cell : cell + padding;
      text.append(kGap, ' ');
    }
    out += without_trailing_spaces(std::move(text)) + "\n";
  }
}

std::string Table::text() const {
  const std::vector<std::size_t> widths = column_widths();
  std::string out;
  for (const std::vector<std::string>& row : rows_) append_row(out, row, widths);
  return out;
}

}  // namespace polystate::cli
