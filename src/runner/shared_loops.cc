#include "runner/shared_loops.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/session/model.h"
#include "runner/generation_loop.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/request_queue.h"

namespace polystate {
namespace {

// Fewer rows than this are bound by the memory that weights come from, where two threads that share
// a batch read them once.
constexpr std::int64_t kRowsOfALane = 16;

// How long a caller waits for another one before it looks again whether it was cancelled.
constexpr auto kMoment = std::chrono::milliseconds(10);

std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

}  // namespace

// Lets another caller drive when it ends, also where memory runs out.
class SharedLoops::Drive {
 public:
  explicit Drive(SharedLoops& loops) : loops_(loops) {}
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;
  ~Drive() {
    const std::lock_guard lock(loops_.mutex_);
    loops_.is_driven_ = false;
    loops_.changed_.notify_all();
  }

 private:
  SharedLoops& loops_;
};

// Lets other threads hear an inbox when it ends, also where what is called throws. Its owner holds
// the lock at the beginning.
class SharedLoops::Hearing {
 public:
  Hearing(SharedLoops& loops, Inbox& inbox, std::unique_lock<std::mutex>& lock)
      : loops_(loops), inbox_(inbox), lock_(lock) {
    inbox_.is_heard = true;
  }
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;
  ~Hearing() {
    if (!lock_.owns_lock()) lock_.lock();
    inbox_.is_heard = false;
    loops_.changed_.notify_all();
  }

 private:
  SharedLoops& loops_;
  Inbox& inbox_;
  std::unique_lock<std::mutex>& lock_;
};

SharedLoops::SharedLoops(const Model& model, std::unique_ptr<TokenModel> shared)
    : model_(model), shared_(std::move(shared), queue_) {}

Result<std::unique_ptr<SharedLoops>> SharedLoops::open(const Model& model) {
  auto shared = TokenModel::open(model);
  if (!shared) return shared.error();
  return std::unique_ptr<SharedLoops>(new SharedLoops(model, std::move(*shared)));
}

void SharedLoops::connect(Request& request, const std::shared_ptr<Inbox>& inbox,
                          std::function<void(TokenId)> on_token,
                          std::function<void(Result<GenerationResult>)> on_done) {
  if (on_token != nullptr) {
    request.on_token = [this, inbox, heard = std::move(on_token)](TokenId token) {
      put(*inbox, [heard, token] { heard(token); }, false);
      return true;
    };
  }
  request.on_done = [this, inbox, heard = std::move(on_done)](Result<GenerationResult> result) {
    put(*inbox, [heard, told = std::move(result)]() mutable { heard(std::move(told)); }, true);
  };
}

void SharedLoops::push(Inbox& inbox, RequestQueue::Requests requests) {
  const std::int64_t count = std::ssize(requests);
  queue_.push(std::move(requests));
  const std::lock_guard lock(mutex_);
  inbox.running += count;
}

void SharedLoops::put(Inbox& inbox, std::function<void()> news, bool is_over) {
  const std::lock_guard lock(mutex_);
  inbox.news.push_back(std::move(news));
  if (is_over) --inbox.running;
  changed_.notify_all();
}

void SharedLoops::end(std::span<const std::shared_ptr<Request>> requests) {
  for (const auto& request : requests) request->end(Request::End::kCancelled);
  for (const auto& request : queue_.take_ended()) fail(*request, cancelled());
}

void SharedLoops::use_keeping_loop(const std::function<void(GenerationLoop& loop)>& use) {
  {
    std::unique_lock lock(mutex_);
    ++waiting_keepers_;
    changed_.wait(lock, [this] { return !is_driven_; });
    --waiting_keepers_;
    is_driven_ = true;
  }
  const Drive drive(*this);
  use(shared_.loop);
}

bool SharedLoops::hear(Inbox& inbox) {
  std::unique_lock lock(mutex_);
  if (inbox.is_heard || inbox.news.empty()) return false;
  const Hearing hearing(*this, inbox, lock);
  while (!inbox.news.empty()) {
    std::function<void()> first = std::move(inbox.news.front());
    inbox.news.pop_front();
    lock.unlock();
    first();
    first = nullptr;  // what it holds may be the caller's, and is not to go under the lock
    lock.lock();
  }
  return true;
}

bool SharedLoops::is_waiting(const Inbox& inbox) {
  const std::lock_guard lock(mutex_);
  return inbox.running > 0 || inbox.is_heard || !inbox.news.empty();
}

bool SharedLoops::goes_on(const Inbox& inbox) {
  const std::lock_guard lock(mutex_);
  return waiting_keepers_ == 0 && (inbox.running > 0 || !inbox.news.empty());
}

void SharedLoops::advance(Inbox& inbox, const std::function<void()>& between_steps) {
  {
    std::unique_lock lock(mutex_);
    if (inbox.running <= 0) {  // what is left is heard, maybe by another thread just now
      changed_.wait_for(lock, kMoment, [&] { return inbox.running > 0 || !inbox.is_heard; });
      return;
    }
    if (!may_drive()) {
      const auto has_news = [&] { return !inbox.news.empty() && !inbox.is_heard; };
      changed_.wait_for(lock, kMoment, [&] { return may_drive() || has_news(); });
      if (!may_drive() || has_news()) return;
    }
    is_driven_ = true;
  }
  const Drive drive(*this);
  choose_lanes();
  if (lanes_in_use_ == 0) {
    (void)shared_.loop.step(true);
  } else if (between_steps == nullptr) {
    step_lanes();
  } else {
    run_lanes(inbox, between_steps);
  }
}

void SharedLoops::choose_lanes() {
  const auto is_idle = [](const std::unique_ptr<Lane>& lane) { return lane->loop.is_idle(); };
  if (!shared_.loop.is_idle() || !std::ranges::all_of(lanes_, is_idle)) return;
  lanes_in_use_ = 0;
  const RequestQueue::Waiting waiting = queue_.waiting();
  const std::int64_t rows = std::min(limits().max_rows(), waiting.rows);
  const std::int64_t worth = rows / std::max(kRowsOfALane, waiting.largest);
  const auto count = std::min(model_.sessions_side_by_side(), static_cast<std::size_t>(worth));
  if (count < 2 || !open_lanes(count)) return;
  lanes_in_use_ = count;
  const std::int64_t share = divide_up(rows, static_cast<std::int64_t>(count));
  for (const auto& lane : lanes_) {
    lane->loop.limit_rows(divide_up(share, waiting.largest) * waiting.largest);
  }
}

bool SharedLoops::open_lanes(std::size_t count) {
  while (lanes_.size() < count) {
    auto opened = TokenModel::open(model_, {.single_threaded = true});
    if (!opened) return false;
    lanes_.push_back(std::make_unique<Lane>(std::move(*opened), queue_));
  }
  return true;
}

void SharedLoops::run_lanes(const Inbox& inbox, const std::function<void()>& between_steps) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> is_over = false;  // the inbox is served, or others come first
  std::atomic<bool> is_dry = false;   // the caller's own lane has nothing to run
  std::atomic<bool> has_stepped = false;
  model_.parallel_for(lanes_in_use_, [&](std::size_t i) {
    const bool is_caller = std::this_thread::get_id() == caller;
    while (!is_over && !is_dry && lanes_[i]->loop.step(false)) {
      has_stepped = true;
      if (!is_caller) continue;
      between_steps();
      if (!goes_on(inbox)) is_over = true;
    }
    if (is_caller) is_dry = true;
  });
  // Where one thread has them all, the first one that is dry keeps it from the others.
  if (!has_stepped) step_lanes();
}

void SharedLoops::step_lanes() {
  model_.parallel_for(lanes_in_use_, [this](std::size_t i) { (void)lanes_[i]->loop.step(false); });
}

}  // namespace polystate
