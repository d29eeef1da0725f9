#include "cli/run/tensor_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/element.h"
#include "cli/text.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kMostElements = 1000;  // more are abridged
constexpr std::size_t kEdge = 3;             // elements shown at each end of an abridged dimension

// Lays out one tensor. Elements are right-aligned to the widest that is shown.
class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), is_abridged_(tensor.element_count() > kMostElements) {
    visit(0, 0, [this](std::size_t index) {
      widest_ = std::max(widest_, element_text(tensor_, index).size());
    });
  }

  std::string text() {
    append(0, 0);
    return std::move(out_) + "\n";
  }

 private:
  [[nodiscard]] std::size_t size(std::size_t dimension) const {
    return static_cast<std::size_t>(tensor_.shape()[dimension]);
  }

  // The positions of `dimension` that are shown; a gap lies between the first and the last kEdge
  // where it is abridged.
  [[nodiscard]] std::vector<std::size_t> shown(std::size_t dimension) const {
    const bool has_gap = is_abridged_ && size(dimension) > 2 * kEdge;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < size(dimension); ++i) {
      if (has_gap && i == kEdge) i = size(dimension) - kEdge;
      positions.push_back(i);
    }
    return positions;
  }

  template <typename Visitor>
  void visit(std::size_t dimension, std::size_t offset, const Visitor& visitor) const {
    if (dimension == tensor_.shape().size()) return visitor(offset);
    for (const std::size_t i : shown(dimension)) {
      visit(dimension + 1, offset * size(dimension) + i, visitor);
    }
  }

  // `offset`: the row-major index of the part that is printed, counted in parts of its size.
  void append(std::size_t dimension, std::size_t offset) {
    if (dimension == tensor_.shape().size()) {
      const std::string text = element_text(tensor_, offset);
      out_.append(widest_ - text.size(), ' ').append(text);
      return;
    }
    out_ += '[';
    std::size_t expected = 0;
    for (const std::size_t i : shown(dimension)) {
      if (i > 0) append_separator(dimension);
      if (i != expected) {
        out_ += "...";
        append_separator(dimension);
      }
      append(dimension + 1, offset * size(dimension) + i);
      expected = i + 1;
    }
    out_ += ']';
  }

  // A comma, then a space within a row that still has room, else a line and the indentation of the
  // open brackets.
  void append_separator(std::size_t dimension) {
    out_ += ',';
    const std::size_t rank = tensor_.shape().size();
    const std::size_t column = out_.size() - (out_.rfind('\n') + 1);
    if (dimension + 1 == rank && column + widest_ + 2 <= kLineWidth) {
      out_ += ' ';
    } else {
      out_.append(1, '\n').append(dimension + 1, ' ');
    }
  }

  const Tensor& tensor_;
  bool is_abridged_;
  std::size_t widest_ = 0;
  std::string out_;
};

}  // namespace

std::string tensor_text(const Tensor& tensor) {
  return tensor.element_count() == 0 ? "[]\n" : Printer(tensor).text();
}

}  // namespace polystate::cli
