#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/fake_token_model.h"
#include "runner/generation_loop.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/request_queue.h"

namespace polystate {

// A loop over a fake model, and what it told of each request.
class Loop {
 public:
  explicit Loop(const std::shared_ptr<FakeTokenModel>& fake)
      : model_(TokenModel::open(make_model(fake)).value()), loop_(*model_, queue_) {}

  std::shared_ptr<Request> submit(const GenerationInput& input, const GenerationConfig& config,
                                  std::function<bool(TokenId)> on_token = nullptr,
                                  bool keeps = false) {
    auto maker = RequestMaker::create(config, {.hears_tokens = on_token != nullptr, .keeps = keeps},
                                      model_->limits())
                     .value();
    const std::shared_ptr<Request> request = maker.make(input, 0, "the request").value();
    request->on_token = std::move(on_token);
    request->on_done = [this, key = request.get()](Result<GenerationResult> result) {
      told_.emplace_back(key, std::move(result));
    };
    queue_.push({request});
    return request;
  }

  bool step() { return loop_.step(true); }
  // Ends a request, also one that waits.
  void cancel(Request& request) {
    request.end(Request::End::kCancelled);
    for (const auto& ended : queue_.take_ended()) fail(*ended, cancelled());
  }
  using Told = std::vector<std::pair<const Request*, Result<GenerationResult>>>;
  [[nodiscard]] Told take_told() { return std::exchange(told_, {}); }
  GenerationResult run_alone(const GenerationInput& input, const GenerationConfig& config) {
    submit(input, config);
    while (told_.empty()) step();
    return std::move(take_told().front().second).value();
  }
  [[nodiscard]] TokenModel& model() { return *model_; }

 private:
  std::unique_ptr<TokenModel> model_;
  RequestQueue queue_;
  GenerationLoop loop_;
  Told told_;
};

}  // namespace polystate
