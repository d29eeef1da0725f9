#pragma once

#include <string>

namespace polystate {

// Makes ExecuTorch's log reach LogCapture; later calls do nothing. Messages of threads that capture
// nothing go where they went before, so that a program which uses ExecuTorch beside this library
// keeps its log.
void install_log_capture();

// While it exists, what ExecuTorch logs on this thread is not printed, and the first errors are
// kept. They nest: the innermost one captures.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The errors so far, "first; second"; empty when there were none.
  [[nodiscard]] const std::string& errors() const { return errors_; }

  void add_error(std::string_view message);

 private:
  LogCapture* const outer_;
  std::string errors_;
  int count_ = 0;
};

}  // namespace polystate
