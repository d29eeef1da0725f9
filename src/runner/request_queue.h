#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runner/admission.h"
#include "runner/request.h"

namespace polystate {

// The requests that wait, first come, first served; those that come together are ordered by their
// length, the longest first, so that sources that are encoded together need little padding, and the
// last rows are not one long sequence. For loops and callers on any number of threads.
class RequestQueue {
 public:
  using Requests = std::vector<std::shared_ptr<Request>>;

  void push(Requests requests);

  using DemandOf = std::function<Demand(const Request& request)>;

  // Takes the next requests, as many as there is room for by what `demand_of` says of each. With
  // `all_or_none`, none unless all that wait have room. Stops at a request that needs the shared
  // loop, unless it `is_shared`.
  Requests take(const FreeCapacity& free, const DemandOf& demand_of, bool all_or_none,
                bool is_shared);

  // Takes the first request if `is_wanted` says so; null where it does not, or none waits.
  std::shared_ptr<Request> take_first(const std::function<bool(const Request&)>& is_wanted);

  // Removes the requests that are to end, and returns them.
  Requests take_ended();

  // What waits before the first request that needs the shared loop.
  struct Waiting {
    std::int64_t rows = 0;     // of all
    std::int64_t largest = 0;  // rows of one request
  };
  [[nodiscard]] Waiting waiting() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Request>> requests_;
};

}  // namespace polystate
