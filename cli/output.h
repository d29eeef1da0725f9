#pragma once

#include <string_view>

#include "polystate/core/result.h"

namespace polystate::cli {

// Standard output: results, and nothing else. Text is written at once. A reader that went away (`|
// head`) is no error: what follows is dropped. Any other failure is remembered. It borrows its
// descriptor.
class Output {
 public:
  explicit Output(int descriptor);

  void write(std::string_view text);

  // Whether nobody would see what is written: the reader went away, or a write failed.
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  // kIo when a write failed.
  [[nodiscard]] const Status& status() const { return status_; }

  // Whether a person may read along.
  [[nodiscard]] bool is_terminal() const { return is_terminal_; }

  // Whether headings may be emphasised: a terminal, and the user has not set NO_COLOR
  // (no-color.org).
  [[nodiscard]] bool has_colour() const { return has_colour_; }

 private:
  int descriptor_;
  bool is_terminal_;
  bool has_colour_;
  bool is_closed_ = false;
  Status status_;
};

}  // namespace polystate::cli
