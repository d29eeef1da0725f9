#include "runner/sequence_group.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/admission.h"
#include "runner/cache/cached_sequence.h"
#include "runner/context_slide.h"
#include "runner/model/source_encoder.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/search/fork_rows.h"
#include "runner/search/search.h"
#include "runner/search/token_reports.h"

namespace polystate {

SequenceGroup::SequenceGroup(std::shared_ptr<Request> request, std::optional<EncodedSource> source,
                             CachedSequence first, const Demand& demand,
                             std::unique_ptr<Search> search)
    : request_(std::move(request)),
      source_(std::move(source)),
      unread_(request_->seen_prompt().subspan(static_cast<std::size_t>(first.length()))),
      cached_(static_cast<std::size_t>(first.length())),
      demand_(demand),
      search_(std::move(search)) {
  sequences_.push_back(std::move(first));
}

Result<std::unique_ptr<SequenceGroup>> SequenceGroup::create(std::shared_ptr<Request> request,
                                                             std::optional<EncodedSource> source,
                                                             CachedSequence first,
                                                             const Demand& demand) {
  Result<std::unique_ptr<Search>> search = make_search(request->search_context());
  if (!search) return search.error();
  return std::unique_ptr<SequenceGroup>(new SequenceGroup(
      std::move(request), std::move(source), std::move(first), demand, std::move(*search)));
}

void SequenceGroup::start_from(CachedSequence first) {
  assert(is_new_);
  if (first.length() <= sequences_.front().length()) return;
  cached_ = static_cast<std::size_t>(first.length());
  unread_ = request_->seen_prompt().subspan(cached_);
  sequences_.front() = std::move(first);
}

void SequenceGroup::plan_rows(std::vector<StepRow>& rows, const Room& room) {
  is_new_ = false;
  if (reads_text()) {
    rows.push_back(unread_.empty() ? plan_again(room) : plan_prompt(room));
    return;
  }
  const EncodedSource* const source = source_ ? &*source_ : nullptr;
  const auto next = search_->next();
  assert(next.size() == sequences_.size());
  chooses_ = true;
  wanted_ = next.size();
  for (std::size_t i = 0; i < next.size(); ++i) {
    rows.push_back({{&next[i].token, 1}, &sequences_[i], source, row_prompt(), 1});
  }
}

StepRow SequenceGroup::plan_prompt(const Room& room) {
  const bool wants_all = request_->wants_prompt_logprobs();
  const std::size_t most = wants_all ? std::min(room.tokens, room.wanted) : room.tokens;
  const auto chunk = unread_.first(std::min(most, unread_.size()));
  unread_ = unread_.subspan(chunk.size());
  chooses_ = unread_.empty();
  wanted_ = chooses_ ? 1 : 0;
  if (wants_all) wanted_ = chunk.size();
  return {chunk, &sequences_.front(), source_ ? &*source_ : nullptr, row_prompt(), wanted_};
}

StepRow SequenceGroup::plan_again(const Room& room) {
  const auto unread = std::span<const TokenId>(again_[again_row_]).subspan(again_read_);
  const auto chunk = unread.first(std::min(room.tokens, unread.size()));
  CachedSequence& sequence = sequences_[again_row_];
  again_read_ += chunk.size();
  if (chunk.size() == unread.size()) {
    ++again_row_;
    again_read_ = 0;
  }
  chooses_ = false;
  wanted_ = 0;
  return {chunk, &sequence, nullptr, row_prompt(), 0};
}

void SequenceGroup::choose(std::span<float> logits) {
  if (wanted_ == 0) return;
  const std::size_t vocabulary = logits.size() / wanted_;
  const std::size_t of_search = chooses_ ? search_->next().size() : 0;
  status_ = report_prompt(logits.first((wanted_ - of_search) * vocabulary), vocabulary);
  if (!chooses_ || !status_ || request_->generates_nothing()) return;
  if (request_->is_late()) search_->end_with_next();
  status_ = search_->advance(logits.last(of_search * vocabulary));
  has_told_ = !status_;
}

Status SequenceGroup::report_prompt(std::span<const float> logits, std::size_t vocabulary) {
  for (; !logits.empty(); logits = logits.subspan(vocabulary)) {
    const TokenId next = request_->prompt()[prompt_logprobs_.size() + 1];
    Result<TokenLogprobs> reported =
        token_logprobs(logits.first(vocabulary), next,
                       static_cast<std::size_t>(request_->config().prompt_logprobs.value_or(0)));
    if (!reported) return reported.error();
    prompt_logprobs_.push_back(std::move(*reported));
  }
  return {};
}

void SequenceGroup::fork_rows() {
  if (!chooses_ || !status_) return;
  if (request_->keeps() && search_->next().empty()) return;
  Result<std::vector<CachedSequence>> forked = polystate::fork_rows(search_->next(), sequences_);
  sequences_ = std::move(forked).value();  // they always fork
  slide();
}

void SequenceGroup::slide() {
  const std::optional<ContextSlide>& slide = request_->slide();
  if (!slide || sequences_.empty() || sequences_.front().length() < slide->positions) return;
  again_.clear();
  again_row_ = 0;
  for (std::size_t row = 0; row < sequences_.size(); ++row) {
    again_.push_back(slide->seen(search_->tokens_of(row)));
    again_.back().pop_back();  // the row's next token
    sequences_[row].clear();
  }
}

std::span<const TokenId> SequenceGroup::row_prompt() const {
  return again_.empty() ? request_->seen_prompt() : std::span<const TokenId>();
}

void SequenceGroup::keep_prompt(TokenModel& model) const {
  if (!again_.empty()) return;
  const std::span<const TokenId> prompt = request_->seen_prompt();
  model.keep_prefix(prompt.first(prompt.size() - unread_.size()), sequences_.front());
}

void SequenceGroup::tell_token() {
  if (std::exchange(has_told_, true) || request_->on_token == nullptr) return;
  if (!request_->on_token(search_->tokens().back())) request_->end(Request::End::kAsItIs);
}

bool SequenceGroup::is_done() const {
  return !status_ || search_->next().empty() || request_->end() != Request::End::kNone ||
         (unread_.empty() && request_->generates_nothing());
}

std::optional<SequenceGroup::Kept> SequenceGroup::take_kept() {
  const bool is_cancelled = request_->end() == Request::End::kCancelled;
  if (!request_->keeps() || is_cancelled || !status_ || reads_text()) return std::nullopt;
  CachedSequence& cached = sequences_.front();
  const std::span<const TokenId> all = search_->tokens();
  const auto first = again_.empty() ? request_->seen_prompt() : std::span(again_.front());
  std::vector<TokenId> tokens(first.begin(), first.end());
  // The tokens after these were read one a step. The last one was chosen, and not read.
  const auto rest = all.first(all.size() - 1);
  const auto count = static_cast<std::size_t>(cached.length()) - first.size();
  tokens.insert(tokens.end(), rest.end() - static_cast<std::ptrdiff_t>(count), rest.end());
  const auto source = request_->source();
  kept_ = std::make_shared<const KeptTokens>(
      KeptTokens{{source.begin(), source.end()}, std::move(tokens)});
  return Kept{kept_, std::move(cached), request_->yields()};
}

void SequenceGroup::tell_result(Result<GenerationResult> result) {
  is_told_ = true;
  if (request_->on_done != nullptr) request_->on_done(std::move(result));
}

Result<GenerationResult> SequenceGroup::take_result() {
  if (!status_) return status_.error();
  if (request_->end() == Request::End::kCancelled) return cancelled();
  GenerationResult result = {search_->take_results(), {}, std::move(prompt_logprobs_)};
  result.sequences.front().kept = std::move(kept_);
  const auto prompt = std::ssize(request_->prompt());
  for (const GeneratedSequence& sequence : result.sequences) {
    result.usage.generated_tokens += std::ssize(sequence.ids) - prompt;
  }
  result.usage.prompt_tokens = std::ssize(request_->source()) + prompt;
  result.usage.cached_tokens = static_cast<std::int64_t>(cached_);
  result.usage.pages = request_->pages();
  return result;
}

}  // namespace polystate
