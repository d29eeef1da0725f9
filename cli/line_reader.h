#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::cli {

enum class LineEnd : std::uint8_t {
  kAny,       // "\n" or "\r\n"
  kLineFeed,  // "\n": a return before it is part of the line
};

// Reads the lines of a descriptor in groups, as they come: what a slow writer has sent is given at
// once, and a fast one is read in large groups. A byte order mark (U+FEFF as UTF-8) that all of it
// begins with is none of a line. It borrows its descriptor, and holds one group.
class LineReader {
 public:
  explicit LineReader(int descriptor, LineEnd end = LineEnd::kAny)
      : descriptor_(descriptor), end_(end) {}

  // The next lines without their ends, at least one and at most `limit`; empty at
  // the end. Waits for the first line only. kContract for what cannot be read.
  Result<std::vector<std::string>> next(std::size_t limit);

  // All that is left, with the ends of its lines as they are. It waits for the end. kContract for
  // what cannot be read.
  Result<std::string> rest();

 private:
  // Moves whole lines out of what was read.
  void take_lines(std::vector<std::string>& lines, std::size_t limit);
  [[nodiscard]] bool has_more_now() const;
  Status read_some();
  // Takes a byte order mark away, as soon as it is known whether there is one.
  void take_mark();

  [[nodiscard]] std::string without_end(std::string line) const;

  int descriptor_;
  LineEnd end_;
  std::string unread_;        // bytes that were read
  std::size_t begin_ = 0;     // of the first that is not part of a line that was given
  std::size_t searched_ = 0;  // up to here there is no end of a line
  bool at_end_ = false;
  bool may_have_mark_ = true;
};

}  // namespace polystate::cli
