#pragma once

#include <atomic>
#include <utility>

#include "polystate/core/result.h"

namespace polystate {

// Holds a session for one call, so that a second thread is told instead of let in.
class Claim {
 public:
  // kBusy when another thread holds it; kContract without a flag: the session was moved from.
  static Result<Claim> take(std::atomic<bool>* busy) {
    if (busy == nullptr) {
      return Error{ErrorCode::kContract, "this session was moved to another object"};
    }
    if (busy->exchange(true, std::memory_order_acquire)) {
      return Error{ErrorCode::kBusy, "another thread is using this session"};
    }
    return Claim(busy);
  }

  Claim(Claim&& other) noexcept : busy_(std::exchange(other.busy_, nullptr)) {}
  Claim& operator=(Claim&&) = delete;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (busy_ != nullptr) {
      busy_->store(false, std::memory_order_release);
    }
  }

 private:
  explicit Claim(std::atomic<bool>* busy) : busy_(busy) {}
  std::atomic<bool>* busy_;
};

}  // namespace polystate
