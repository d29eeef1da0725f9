#include "runner/sequence_group.h"

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "runner/encoder_decoder.h"
#include "runner/page_table.h"
#include "runner/request.h"
#include "runner/search/fork_rows.h"
#include "runner/search/search.h"

namespace polystate {

SequenceGroup::SequenceGroup(std::shared_ptr<Request> request, EncodedSource source,
                             PageTable first, std::unique_ptr<Search> search)
    : request_(std::move(request)),
      source_(std::move(source)),
      unread_(request_->prompt().first(request_->prompt().size() - 1)),
      search_(std::move(search)) {
  sequences_.push_back(std::move(first));
}

Result<std::unique_ptr<SequenceGroup>> SequenceGroup::create(std::shared_ptr<Request> request,
                                                             EncodedSource source,
                                                             PageTable first) {
  Result<std::unique_ptr<Search>> search = make_search(request->search_context());
  if (!search) return search.error();
  return std::unique_ptr<SequenceGroup>(new SequenceGroup(std::move(request), std::move(source),
                                                          std::move(first), std::move(*search)));
}

void SequenceGroup::plan_rows(std::vector<DecoderRow>& rows) {
  if (!unread_.empty()) {
    rows.push_back({unread_.front(), &sequences_.front(), &source_, request_->prompt()});
    return;
  }
  const auto next = search_->next();
  assert(next.size() == sequences_.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    rows.push_back({next[i].token, &sequences_[i], &source_, request_->prompt()});
  }
}

void SequenceGroup::choose(std::span<float> logits) {
  has_chosen_ = unread_.empty();
  if (!has_chosen_) {
    unread_ = unread_.subspan(1);
    return;
  }
  if (request_->is_late()) search_->end_with_next();
  status_ = search_->advance(logits);
  has_told_ = !status_;
}

void SequenceGroup::fork_rows() {
  if (!has_chosen_ || !status_) return;
  Result<std::vector<PageTable>> forked = polystate::fork_rows(search_->next(), sequences_);
  sequences_ = std::move(forked).value();  // page tables always fork
}

void SequenceGroup::tell_token() {
  if (std::exchange(has_told_, true) || request_->on_token == nullptr) return;
  if (!request_->on_token(search_->newest_token())) request_->end(Request::End::kAsItIs);
}

bool SequenceGroup::is_done() const {
  return !status_ || search_->next().empty() || request_->end() != Request::End::kNo;
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
  result.usage.pages = request_->demand().pages;
  return result;
}

}  // namespace polystate
