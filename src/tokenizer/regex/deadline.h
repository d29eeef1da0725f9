#pragma once

#include <chrono>
#include <cstddef>

namespace polystate::tokenizer {

// The time that looking for matches in a text may take, or in its parts one after another: far more
// than an expression takes that reads each character a few times.
class Deadline {
 public:
  explicit Deadline(std::size_t text_bytes) : end_(Clock::now() + kTimeLimit) {
    extend(text_bytes);
  }

  // As many bytes more are looked at.
  void extend(std::size_t text_bytes) { end_ += text_bytes * kTimeLimitPerByte; }

  // To be asked at each search; the clock is read at some of them.
  bool passed() { return ++asked_ % kSearchesBetweenReadings == 0 && Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kTimeLimit{2};
  static constexpr std::chrono::microseconds kTimeLimitPerByte{1};
  static constexpr unsigned kSearchesBetweenReadings = 16;

  Clock::time_point end_;
  unsigned asked_ = 0;
};

}  // namespace polystate::tokenizer
