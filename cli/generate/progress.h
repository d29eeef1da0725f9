#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace polystate::cli {

// A counter on standard error while long work runs: "translated 1,024 lines (85/s)". Shown on a
// terminal only, a few times a second, and wiped when it is done.
class Progress {
 public:
  // `verb` and `unit`: "translated", "lines".
  Progress(std::string verb, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of all until now.
  void show(std::size_t done);
  // Makes room for other text on the terminal.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;

  std::string verb_;
  std::string unit_;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace polystate::cli
