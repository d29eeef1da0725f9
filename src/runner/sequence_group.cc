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
#include "runner/cache/page_table.h"
#include "runner/model/source_encoder.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/search/fork_rows.h"
#include "runner/search/search.h"

namespace polystate {

SequenceGroup::SequenceGroup(std::shared_ptr<Request> request, std::optional<EncodedSource> source,
                             PageTable first, std::unique_ptr<Search> search)
    : request_(std::move(request)),
      source_(std::move(source)),
      unread_(request_->prompt().subspan(static_cast<std::size_t>(first.length()))),
      cached_(static_cast<std::size_t>(first.length())),
      search_(std::move(search)) {
  sequences_.push_back(std::move(first));
}

Result<std::unique_ptr<SequenceGroup>> SequenceGroup::create(std::shared_ptr<Request> request,
                                                             std::optional<EncodedSource> source,
                                                             PageTable first) {
  Result<std::unique_ptr<Search>> search = make_search(request->search_context());
  if (!search) return search.error();
  return std::unique_ptr<SequenceGroup>(new SequenceGroup(std::move(request), std::move(source),
                                                          std::move(first), std::move(*search)));
}

void SequenceGroup::plan_rows(std::vector<StepRow>& rows, std::size_t room) {
  const EncodedSource* const source = source_ ? &*source_ : nullptr;
  if (reads_prompt()) {
    const auto chunk = unread_.first(std::min(room, unread_.size()));
    unread_ = unread_.subspan(chunk.size());
    wants_logits_ = unread_.empty();
    rows.push_back({chunk, &sequences_.front(), source, request_->prompt(), wants_logits_});
    return;
  }
  const auto next = search_->next();
  assert(next.size() == sequences_.size());
  wants_logits_ = true;
  for (std::size_t i = 0; i < next.size(); ++i) {
    rows.push_back({{&next[i].token, 1}, &sequences_[i], source, request_->prompt(), true});
  }
}

void SequenceGroup::choose(std::span<float> logits) {
  if (!wants_logits_) return;
  if (request_->is_late()) search_->end_with_next();
  status_ = search_->advance(logits);
  has_told_ = !status_;
}

void SequenceGroup::fork_rows() {
  if (!wants_logits_ || !status_) return;
  Result<std::vector<PageTable>> forked = polystate::fork_rows(search_->next(), sequences_);
  sequences_ = std::move(forked).value();  // page tables always fork
}

void SequenceGroup::keep_prompt(TokenModel& model) const {
  const std::span<const TokenId> prompt = request_->prompt();
  model.keep_prefix(prompt.first(prompt.size() - unread_.size()), sequences_.front());
}

void SequenceGroup::tell_token() {
  if (std::exchange(has_told_, true) || request_->on_token == nullptr) return;
  if (!request_->on_token(search_->newest_token())) request_->end(Request::End::kAsItIs);
}

bool SequenceGroup::is_done() const {
  return !status_ || search_->next().empty() || request_->end() != Request::End::kNone;
}

void SequenceGroup::tell_result() {
  if (request_->on_done != nullptr) request_->on_done(take_result());
}

Result<GenerationResult> SequenceGroup::take_result() {
  if (!status_) return status_.error();
  if (request_->end() == Request::End::kCancelled) return cancelled();
  GenerationResult result{search_->take_results(), {}};
  const auto prompt = std::ssize(request_->prompt());
  for (const GeneratedSequence& sequence : result.sequences) {
    result.usage.generated_tokens += std::ssize(sequence.ids) - prompt;
  }
  result.usage.prompt_tokens = std::ssize(request_->source()) + prompt;
  result.usage.cached_tokens = static_cast<std::int64_t>(cached_);
  result.usage.pages = request_->demand().pages;
  return result;
}

}  // namespace polystate
