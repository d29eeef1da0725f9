#include "tokenizer/scratch.h"

#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace polystate::tokenizer {

std::unique_ptr<Scratch> ScratchPool::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(idle_.back());
  idle_.pop_back();
  return scratch;
}

void ScratchPool::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    idle_.push_back(std::move(scratch));
  } catch (const std::bad_alloc&) {
    // It is lost: the next encoding makes one anew.
    return;
  }
}

}  // namespace polystate::tokenizer
