#include "runner/generate_call.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/request.h"
#include "runner/request_queue.h"
#include "runner/shared_loops.h"

namespace polystate {
namespace {

// Leaves the first of `values` that belong to `kept` of `all` tokens.
template <typename T>
void keep_first_values(std::vector<T>& values, std::size_t kept, std::size_t all) {
  if (all > 0) values.resize(values.size() / all * kept);
}

// Leaves `kept` of the tokens that were generated after `prompt` given ones.
void drop_generated(GeneratedSequence& sequence, std::size_t prompt, std::size_t kept) {
  const std::size_t all = sequence.ids.size() - prompt;
  if (kept == all) return;
  sequence.ids.resize(prompt + kept);
  sequence.finish_reason = FinishReason::kUnfinished;
  keep_first_values(sequence.logprobs, kept, all);
  keep_first_values(sequence.scores, kept, all);
  keep_first_values(sequence.logits, kept, all);
}

}  // namespace

GenerateCall::~GenerateCall() {
  stop(cancelled());
  while (loops_.is_waiting(*inbox_)) {
    if (!loops_.hear(*inbox_)) loops_.advance(*inbox_, [] {});
  }
}

Status GenerateCall::start(std::span<const GenerationInput> inputs) {
  Result<RequestMaker> maker = RequestMaker::create(options_.config.value_or(default_config_),
                                                    callers_part_of(options_), loops_.limits());
  if (!maker) return maker.error();
  std::vector<std::shared_ptr<Request>> requests;
  requests.reserve(inputs.size());
  for (const GenerationInput& input : inputs) {
    const std::size_t number = requests.size();
    const std::string name =
        options_.name_of ? options_.name_of(number) : "input " + std::to_string(number);
    auto request = maker->make(input, number, name);
    if (!request) return request.error();
    requests.push_back(std::move(*request));
  }
  requests_ = std::move(requests);
  repeats_.resize(inputs.size());
  heard_.resize(inputs.size());
  has_enough_.resize(inputs.size());
  results_.resize(inputs.size());

  const std::vector<std::size_t> firsts = first_alike(requests_, options_.on_token != nullptr);
  RequestQueue::Requests distinct;
  for (std::size_t input = 0; input < firsts.size(); ++input) {
    if (firsts[input] != input) {
      repeats_[firsts[input]].push_back(input);
    } else {
      connect(input);
      distinct.push_back(requests_[input]);
    }
  }
  loops_.push(*inbox_, std::move(distinct));
  return {};
}

void GenerateCall::connect(std::size_t input) {
  std::function<void(TokenId)> on_token;
  if (options_.on_token != nullptr) {
    on_token = [this, input](TokenId token) { hear_token(input, token); };
  }
  loops_.connect(
      *requests_[input], inbox_, std::move(on_token),
      [this, input](Result<GenerationResult> result) { hear_result(input, std::move(result)); });
}

Result<std::vector<GenerationResult>> GenerateCall::wait() {
  between_steps();
  while (loops_.is_waiting(*inbox_)) {
    loops_.advance(*inbox_, [this] { between_steps(); });
    between_steps();
  }
  if (error_) return *error_;
  return std::move(results_);
}

void GenerateCall::between_steps() {
  (void)loops_.hear(*inbox_);
  if (!error_ && options_.is_cancelled && options_.is_cancelled()) stop(cancelled());
}

void GenerateCall::stop(const Error& error) {
  if (error_) return;
  error_ = error;
  loops_.end(requests_);
}

void GenerateCall::hear_token(std::size_t input, TokenId token) {
  if (error_ || has_enough_[input]) return;
  ++heard_[input];
  if (options_.on_token(input, token)) return;
  has_enough_[input] = true;
  requests_[input]->end(Request::End::kAsItIs);
}

void GenerateCall::hear_result(std::size_t input, Result<GenerationResult> result) {
  if (!result) {
    stop(result.error());
    return;
  }
  if (has_enough_[input]) {  // the loop may have gone on before it knew
    drop_generated(result->sequences.front(), requests_[input]->prompt().size(), heard_[input]);
    result->usage.generated_tokens = static_cast<std::int64_t>(heard_[input]);
  }
  results_[input] = std::move(*result);
  tell_done(input);
  for (const std::size_t repeat : repeats_[input]) {
    results_[repeat] = results_[input];
    GenerationUsage& usage = results_[repeat].usage;
    usage = {.prompt_tokens = usage.prompt_tokens,
             .cached_tokens = usage.prompt_tokens,
             .generated_tokens = usage.generated_tokens};
    tell_done(repeat);
  }
}

void GenerateCall::tell_done(std::size_t input) {
  ++done_;
  if (error_) return;
  if (options_.on_done != nullptr) options_.on_done(input, results_[input].usage);
  if (options_.on_progress != nullptr) options_.on_progress(done_);
}

}  // namespace polystate
