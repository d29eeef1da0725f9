#include "runner/search/row_processors.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "runner/search/fork_rows.h"
#include "runner/search/search.h"

namespace polystate {

RowProcessors::RowProcessors(const LogitsProcessors& processors, std::size_t prompt_length,
                             std::span<const TokenId> source)
    : processors_(&processors), prompt_length_(prompt_length), source_(source) {
  states_.reserve(processors.size());
}

Result<RowProcessors> RowProcessors::start(const SearchContext& context) {
  RowProcessors row(context.processors, context.prompt.size(), context.source);
  for (const auto& processor : context.processors) {
    auto state = processor->start({context.prompt, context.prompt.size(), context.source});
    if (!state) return state.error();
    row.states_.push_back(std::move(state).value());
  }
  return row;
}

Status RowProcessors::process(std::span<const TokenId> tokens, std::span<float> scores) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const TokenContext context = {tokens, prompt_length_, source_, states_[i].get()};
    if (Status processed = (*processors_)[i]->process(context, scores); !processed) {
      return processed;
    }
  }
  return {};
}

Status RowProcessors::advance(TokenId token) {
  for (const auto& state : states_) {
    if (state == nullptr) continue;
    if (Status advanced = state->advance(token); !advanced) return advanced;
  }
  return {};
}

Result<RowProcessors> RowProcessors::fork() const {
  RowProcessors other(*processors_, prompt_length_, source_);
  for (const auto& state : states_) {
    Result<std::unique_ptr<RowState>> forked(nullptr);
    if (state != nullptr) forked = state->fork();
    if (!forked) return forked.error();
    other.states_.push_back(std::move(*forked));
  }
  return other;
}

Status advance_rows(std::span<const Continuation> next, std::vector<RowProcessors>& rows) {
  Result<std::vector<RowProcessors>> forked = fork_rows(next, rows);
  if (!forked) return forked.error();
  rows = std::move(*forked);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (Status advanced = rows[i].advance(next[i].token); !advanced) return advanced;
  }
  return {};
}

}  // namespace polystate
