#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/admission.h"
#include "runner/context_slide.h"
#include "runner/model/limits.h"
#include "runner/search/search.h"

namespace polystate {

using Clock = std::chrono::steady_clock;

// What a caller takes part in a generation with: see RequestOptions.
struct CallersPart {
  LogitsProcessors processors = {};
  std::shared_ptr<const Sampler> sampler = nullptr;  // may be null
  StoppingCriteria stopping_criteria = {};
  bool hears_tokens = false;  // each, as it is chosen
  bool keeps = false;         // what is read
  bool yields = false;        // what it keeps, where others need its pages

  // Whether code of the caller's takes part in choosing tokens.
  [[nodiscard]] bool chooses() const {
    return !processors.empty() || sampler != nullptr || !stopping_criteria.empty();
  }
};

// What RequestOptions or GenerationOptions have of that.
template <typename Options>
CallersPart callers_part_of(const Options& options) {
  return {.processors = options.processors,
          .sampler = options.sampler,
          .stopping_criteria = options.stopping_criteria,
          .hears_tokens = options.on_token != nullptr,
          .keeps = options.keep,
          .yields = options.yields};
}

// One input that is to be generated, checked: what can be refused was refused. It is shared by who
// asked for it and by the loop that runs it.
class Request {
 public:
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() = default;

  [[nodiscard]] std::span<const TokenId> source() const { return input_.source; }
  [[nodiscard]] std::span<const TokenId> prompt() const { return input_.prompt; }
  [[nodiscard]] const KeptSequence& kept() const { return input_.kept; }
  // Whether its pages may be taken from kept(), even if that yields to no other.
  [[nodiscard]] bool gives_up_kept() const { return input_.gives_up_kept; }
  [[nodiscard]] bool keeps() const { return setting_->callers.keeps; }
  [[nodiscard]] bool yields() const { return setting_->callers.yields; }
  // Whether it is for the loop that all callers share: others run none of a caller's code, and
  // keep nothing.
  [[nodiscard]] bool needs_shared_loop() const {
    return runs_callers_code() || keeps() || kept() != nullptr;
  }
  // What the model sees of it.
  [[nodiscard]] std::span<const TokenId> seen_prompt() const {
    return seen_prompt_.empty() ? prompt() : seen_prompt_;
  }
  [[nodiscard]] const GenerationConfig& config() const { return setting_->config; }
  [[nodiscard]] const Demand& demand() const { return demand_; }
  // Pages of the first kind of caches that it may need.
  [[nodiscard]] std::int64_t pages() const { return pages_; }
  [[nodiscard]] bool runs_callers_code() const { return setting_->callers.chooses(); }
  // Whether all of its prompt is to be read, for the log-probabilities of its tokens.
  [[nodiscard]] bool wants_prompt_logprobs() const { return config().prompt_logprobs.has_value(); }
  // Whether its prompt is all that there is.
  [[nodiscard]] bool generates_nothing() const { return max_length_ == std::ssize(prompt()); }
  [[nodiscard]] bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }
  // How it goes on past the model's positions; nothing where it does not get there.
  [[nodiscard]] const std::optional<ContextSlide>& slide() const { return slide_; }
  // What fills up the sources of a batch.
  [[nodiscard]] TokenId pad() const;
  // What its search is for; borrows from the request.
  [[nodiscard]] SearchContext search_context() const;

  // Ends it as soon as its loop looks: with what it has, or with an error. By any thread.
  enum class End : std::uint8_t { kNone, kAsItIs, kCancelled };
  void end(End how) { end_.store(how, std::memory_order_relaxed); }
  [[nodiscard]] End end() const { return end_.load(std::memory_order_relaxed); }

  // Called by the loop that runs it: see RequestOptions. Either may be null.
  std::function<bool(TokenId token)> on_token;
  std::function<void(Result<GenerationResult> result)> on_done;

 private:
  friend class RequestMaker;

  // What the requests of one call have in common.
  struct Setting {
    GenerationConfig config;
    CallersPart callers;
    std::shared_ptr<const Sampler> sampler;
    std::uint64_t seed;
  };

  Request() = default;

  std::shared_ptr<const Setting> setting_;
  GenerationInput input_;  // with its start token as the prompt, where none was given
  std::shared_ptr<const LogitsProcessors> processors_;
  std::int64_t max_length_ = 0;
  std::optional<ContextSlide> slide_;
  std::vector<TokenId> seen_prompt_;  // empty where the prompt fits
  std::uint64_t first_sequence_ = 0;
  std::optional<Clock::time_point> deadline_;
  Demand demand_{};
  std::int64_t pages_ = 0;
  std::atomic<End> end_ = End::kNone;
};

// Tells a request that it ends with an error.
void fail(const Request& request, const Error& error);
// The error of a request that was cancelled.
Error cancelled();

// Makes the requests of one call: of inputs that have everything else in common.
class RequestMaker {
 public:
  // kContract as Runner::generate; kEngine where a seed is to be drawn, and the system has none.
  static Result<RequestMaker> create(GenerationConfig config, CallersPart callers,
                                     const ModelLimits& limits);

  // The request for input `number`. Messages begin with `label`: "input 3: the source is empty".
  Result<std::shared_ptr<Request>> make(GenerationInput input, std::size_t number,
                                        const std::string& label);

 private:
  explicit RequestMaker(const ModelLimits& limits) : limits_(limits) {}

  // The processors of a prompt and a whole sequence of these lengths.
  Result<std::shared_ptr<const LogitsProcessors>> processors_for(std::size_t prompt_length,
                                                                 std::int64_t max_length);
  // How a sequence of this length goes on past the positions; nothing where it fits.
  [[nodiscard]] Result<std::optional<ContextSlide>> slide_of(std::int64_t max_length) const;
  [[nodiscard]] Result<Demand> demand_of(const GenerationInput& input,
                                         std::int64_t max_length) const;

  ModelLimits limits_;
  std::shared_ptr<const Request::Setting> setting_;
  std::optional<Clock::time_point> deadline_;
  using Lengths = std::pair<std::size_t, std::int64_t>;
  std::map<Lengths, std::shared_ptr<const LogitsProcessors>> processors_;
};

// For each request of one call the first one that gets the same sequences: one of the same source
// and prompt. Itself where tokens are drawn, where code of the caller's chooses them, and where the
// caller hears them (`streams`).
std::vector<std::size_t> first_alike(std::span<const std::shared_ptr<Request>> requests,
                                     bool streams);

}  // namespace polystate
