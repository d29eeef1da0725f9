#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polystate {

// Places in memory, one for each index of some dimensions, which are numbered as if they lay row by
// row.
class Offsets {
 public:
  // Adds a dimension inside of those before; one that continues the last one becomes part of it.
  void add(std::int64_t size, std::int64_t stride) {
    count_ *= size;
    if (size == 1) return;
    if (!dimensions_.empty() && dimensions_.back().stride == size * stride) {
      dimensions_.back().size *= size;
      dimensions_.back().stride = stride;
    } else {
      dimensions_.push_back({size, stride});
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  // Takes the last dimension out, if its elements lie one after another, and gives its size;
  // else 1.
  std::int64_t take_run() {
    if (dimensions_.empty() || dimensions_.back().stride != 1) return 1;
    const std::int64_t size = dimensions_.back().size;
    if (size == 0) return 1;
    dimensions_.pop_back();
    count_ /= size;
    return size;
  }

  [[nodiscard]] std::int64_t at(std::int64_t number) const {
    std::int64_t offset = 0;
    for (std::size_t i = dimensions_.size(); i-- > 1; number /= dimensions_[i].size) {
      offset += number % dimensions_[i].size * dimensions_[i].stride;
    }
    return dimensions_.empty() ? 0 : offset + number * dimensions_.front().stride;
  }

 private:
  struct Dimension {
    std::int64_t size;
    std::int64_t stride;
  };

  std::vector<Dimension> dimensions_;
  std::int64_t count_ = 1;
};

}  // namespace polystate
