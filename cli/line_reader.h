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

// Reads the lines of a descriptor in groups, as they come: it returns at once what a slow writer
// has sent, and reads large groups from a fast writer. It skips a byte order mark (U+FEFF as UTF-8)
// at the very beginning. It borrows its descriptor, and holds one group.
class LineReader {
 public:
  explicit LineReader(int descriptor, LineEnd end = LineEnd::kAny)
      : descriptor_(descriptor), end_(end) {}

  // Returns the next lines without their ends, at least one and at most `limit`; at the end, none.
  // Waits for the first line only. kContract where the descriptor cannot be read.
  Result<std::vector<std::string>> next(std::size_t limit);

  // Returns all that is left, with its line ends as they are. Waits for the end. kContract where
  // the descriptor cannot be read.
  Result<std::string> rest();

 private:
  // Moves whole lines out of what was read.
  void take_lines(std::vector<std::string>& lines, std::size_t limit);
  [[nodiscard]] bool has_more_now() const;
  Status read_some();
  // Skips the byte order mark, once enough bytes were read to know whether there is one.
  void take_mark();

  [[nodiscard]] std::string without_end(std::string line) const;

  int descriptor_;
  LineEnd end_;
  std::string unread_;        // bytes of the descriptor
  std::size_t begin_ = 0;     // where the next line begins in them
  std::size_t searched_ = 0;  // no line ends before this byte
  bool at_end_ = false;
  bool may_have_mark_ = true;
};

}  // namespace polystate::cli
