#include "runner/sentence.h"

#include <cassert>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/encoder_decoder.h"
#include "runner/page_table.h"
#include "runner/search.h"

namespace polystate {

Sentence::Sentence(std::size_t input, EncodedSource source, PageTable first,
                   const SearchSetting& setting)
    : input_(input),
      source_(std::move(source)),
      prompt_(setting.prompt),
      unread_(setting.prompt.first(setting.prompt.size() - 1)),
      search_(make_search(setting)) {
  sequences_.push_back(std::move(first));
}

void Sentence::append_rows(std::vector<DecoderRow>& rows) {
  if (!unread_.empty()) {
    rows.push_back({unread_.front(), &sequences_.front(), &source_, prompt_});
    return;
  }
  const auto next = search_->next();
  assert(next.size() == sequences_.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    rows.push_back({next[i].token, &sequences_[i], &source_, prompt_});
  }
}

Status Sentence::choose(std::span<float> logits) {
  has_chosen_ = unread_.empty();
  if (has_chosen_) return search_->advance(logits);
  unread_ = unread_.subspan(1);
  return {};
}

void Sentence::go_on() {
  if (!has_chosen_) return;
  const auto next = search_->next();
  std::vector<std::size_t> uses(sequences_.size(), 0);
  for (const Continuation& each : next) ++uses[each.parent];
  std::vector<PageTable> sequences;
  sequences.reserve(next.size());
  for (const Continuation& each : next) {
    PageTable& parent = sequences_[each.parent];
    sequences.push_back(--uses[each.parent] == 0 ? std::move(parent) : parent.fork());
  }
  sequences_ = std::move(sequences);
}

}  // namespace polystate
