#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/session/model.h"
#include "runner/generation_loop.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/request_queue.h"

namespace polystate {

// What a caller of SharedLoops has not heard yet. Only SharedLoops looks into it.
struct Inbox {
  std::deque<std::function<void()>> news;
  std::int64_t running = 0;  // requests that were pushed and are not over
  bool is_heard = false;     // a thread is calling the news
};

// The generation loops of a model, which callers on any number of threads share. It has no thread
// of its own: one of the callers that wait drives the loops, step after step, for all of them; when
// it has its results, another one goes on. What loops have to tell a caller waits in its inbox
// until the caller's own thread hears it.
class SharedLoops {
 public:
  // Errors as TokenModel::open.
  static Result<std::unique_ptr<SharedLoops>> open(const Model& model);

  [[nodiscard]] const ModelLimits& limits() const { return shared_.model->limits(); }

  // Has the loops put into `inbox` what they tell of `request`; `on_token` may be null.
  void connect(Request& request, const std::shared_ptr<Inbox>& inbox,
               std::function<void(TokenId)> on_token,
               std::function<void(Result<GenerationResult>)> on_done);
  // Has requests wait for room, which are connected to this inbox of the calling thread.
  void push(Inbox& inbox, RequestQueue::Requests requests);
  // Ends those of the requests that are not over.
  void end(std::span<const std::shared_ptr<Request>> requests);

  // Calls `use` with the loop that keeps sequences, between two of its steps. Whoever waits for
  // that comes before those who run steps.
  void use_keeping_loop(const std::function<void(GenerationLoop& loop)>& use);

  // Calls what is in the inbox, and what comes meanwhile, in its order; whether there was anything.
  // Where another thread is doing so, it is left to that one.
  bool hear(Inbox& inbox);
  // Whether the inbox waits for requests that are not over, or has news that are not heard to the
  // end.
  [[nodiscard]] bool is_waiting(const Inbox& inbox);

  // Runs a step of the loops, or waits a moment while another caller does. Where loops run side by
  // side, they run until the inbox waits for nothing more, this thread has nothing to run, or
  // somebody waits for the loop that keeps sequences; `between_steps` is called in between, on this
  // thread. Where it is null, each of them runs one step.
  void advance(Inbox& inbox, const std::function<void()>& between_steps);

 private:
  // A loop with a model of its own.
  struct Lane {
    Lane(std::unique_ptr<TokenModel> own_model, RequestQueue& queue)
        : model(std::move(own_model)), loop(*model, queue) {}
    std::unique_ptr<TokenModel> model;
    GenerationLoop loop;
  };

  class Drive;
  class Hearing;

  SharedLoops(const Model& model, std::unique_ptr<TokenModel> shared);

  void put(Inbox& inbox, std::function<void()> news, bool is_over);
  // Chooses how what waits is run: sets lanes_in_use_, 0 for the shared loop.
  void choose_lanes();
  // Opens lanes; false where there is no memory for them.
  bool open_lanes(std::size_t count);
  void run_lanes(const Inbox& inbox, const std::function<void()>& between_steps);
  // Runs a step of each lane.
  void step_lanes();
  // Whether a caller who runs steps goes on.
  [[nodiscard]] bool goes_on(const Inbox& inbox);
  // Whether one may begin to; to be asked under the mutex.
  [[nodiscard]] bool may_drive() const { return !is_driven_ && waiting_keepers_ == 0; }

  Model model_;
  RequestQueue queue_;
  // For few rows: all threads work on each step of one batch.
  Lane shared_;
  // For many: each thread has a batch of its own, and waits for no other. Opened when needed.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t lanes_in_use_ = 0;

  std::mutex mutex_;  // guards the rest, and inboxes
  std::condition_variable changed_;
  bool is_driven_ = false;
  std::int64_t waiting_keepers_ = 0;  // callers of use_keeping_loop that wait for their turn
};

}  // namespace polystate
