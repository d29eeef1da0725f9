#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace polystate {

// Records what calls of methods take, and in each the kernels of machine code that says when they
// begin and end (`profile=True` at export). Of one session: it serves one thread at a time.
class KernelRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  // Records what this thread does, as a call of `method`, until it ends. The recorder outlives it.
  class Call {
   public:
    Call(KernelRecorder& recorder, const std::string& method);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = delete;
    Call& operator=(Call&&) = delete;

   private:
    KernelRecorder* recorder_;
    std::size_t event_;
    std::uint64_t callback_;  // libtorch's handle of it
  };

  // A trace of everything since the last call, as JSON of Chrome's format (docs/engines.md); empty
  // when nothing ran.
  std::vector<std::byte> take();

 private:
  friend struct KernelCallbacks;

  struct Event {
    std::string name;
    bool is_method = false;
    Clock::time_point begin = {};
    Clock::time_point end = {};
  };

  std::vector<Event> events_;  // each method before its kernels
};

}  // namespace polystate
