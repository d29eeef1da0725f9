#include "runner/request_queue.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runner/admission.h"
#include "runner/request.h"

namespace polystate {
namespace {

std::size_t tokens_to_read(const std::shared_ptr<Request>& request) {
  return request->source().size() + request->prompt().size();
}

}  // namespace

void RequestQueue::push(Requests requests) {
  std::ranges::stable_sort(requests, std::ranges::greater(), tokens_to_read);
  const std::lock_guard lock(mutex_);
  requests_.insert(requests_.end(), std::make_move_iterator(requests.begin()),
                   std::make_move_iterator(requests.end()));
}

RequestQueue::Requests RequestQueue::take(const FreeCapacity& free, const DemandOf& demand_of,
                                          bool all_or_none, bool is_shared) {
  const std::lock_guard lock(mutex_);
  std::vector<Demand> demands;
  for (const auto& request : requests_) {
    if (request->needs_shared_loop() && !is_shared) break;
    demands.push_back(demand_of(*request));
    // No more than these can have room, each of a row at least.
    if (std::ssize(demands) > free.rows) break;
  }
  const std::size_t count = count_admitted(demands, free);
  if (all_or_none && count < requests_.size()) return {};
  const auto end = requests_.begin() + static_cast<std::ptrdiff_t>(count);
  Requests taken(std::make_move_iterator(requests_.begin()), std::make_move_iterator(end));
  requests_.erase(requests_.begin(), end);
  return taken;
}

std::shared_ptr<Request> RequestQueue::take_first(
    const std::function<bool(const Request&)>& is_wanted) {
  const std::lock_guard lock(mutex_);
  if (requests_.empty() || !is_wanted(*requests_.front())) return nullptr;
  std::shared_ptr<Request> first = std::move(requests_.front());
  requests_.pop_front();
  return first;
}

RequestQueue::Requests RequestQueue::take_ended() {
  const std::lock_guard lock(mutex_);
  const auto ended = std::stable_partition(requests_.begin(), requests_.end(),
                                           [](const std::shared_ptr<Request>& request) {
                                             return request->end() == Request::End::kNone;
                                           });
  Requests taken(std::make_move_iterator(ended), std::make_move_iterator(requests_.end()));
  requests_.erase(ended, requests_.end());
  return taken;
}

RequestQueue::Waiting RequestQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  Waiting waiting;
  for (const auto& request : requests_) {
    if (request->needs_shared_loop()) break;
    waiting.rows += request->demand().rows;
    waiting.largest = std::max(waiting.largest, request->demand().rows);
  }
  return waiting;
}

}  // namespace polystate
