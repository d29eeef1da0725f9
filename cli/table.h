#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace polystate::cli {

// Rows of cells in aligned columns, for people. A line takes at most kLineWidth columns: the widest
// columns give way, and their cells wrap between words. Cells are made printable.
class Table {
 public:
  // `indent`: spaces before each line.
  explicit Table(std::size_t indent = 0) : indent_(indent) {}

  void add_row(std::vector<std::string> cells);

  // Aligns the cells of `column` to the right (numbers).
  void align_right(std::size_t column);

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Every line ends in a line feed; none in a space.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::size_t> column_widths() const;
  void append_row(std::string& out, const std::vector<std::string>& cells,
                  const std::vector<std::size_t>& widths) const;
  [[nodiscard]] bool is_right_aligned(std::size_t column) const;

  std::size_t indent_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> right_aligned_;
};

// `text` (printable) in lines of at most `width` columns, broken between words and, where a word
// alone is too wide, inside it.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

}  // namespace polystate::cli
