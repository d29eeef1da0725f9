#include "cli/generate/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

namespace polystate::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kWipe = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string verb, std::string unit)
    : verb_(std::move(verb)),
      unit_(std::move(unit)),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_(start_ + kInterval) {}

Progress::~Progress() { wipe(); }

void Progress::wipe() {
  if (!is_shown_) return;
  std::fputs(kWipe, stderr);
  std::fflush(stderr);
  is_shown_ = false;
}

void Progress::show(std::size_t done) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal_ || now < next_) return;
  next_ = now + kInterval;
  is_shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "%s%s %zu %s (%.0f/s)", kWipe, verb_.c_str(), done, unit_.c_str(),
               static_cast<double>(done) / seconds);
  std::fflush(stderr);
}

}  // namespace polystate::cli
