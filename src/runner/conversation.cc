#include "polystate/runner/conversation.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"

namespace polystate {

Result<GenerationResult> Conversation::generate(std::span<const TokenId> tokens,
                                                const GenerationOptions& options) {
  GenerationInput input = {.source = {},
                           .prompt = tokens_,
                           .kept = kept_ == nullptr ? KeptSequence() : *kept_,
                           .gives_up_kept = kept_.use_count() <= 1};  // a fork keeps its pages
  input.prompt.insert(input.prompt.end(), tokens.begin(), tokens.end());
  GenerationOptions keeping = options;
  keeping.keep = true;
  auto results = runner_->generate({&input, 1}, keeping);
  if (!results) return results.error();
  GenerationResult result = std::move(results->front());
  GeneratedSequence& sequence = result.sequences.front();
  kept_ = std::make_shared<const KeptSequence>(std::exchange(sequence.kept, nullptr));
  tokens_ = sequence.ids;
  return result;
}

Status Conversation::rewind(std::size_t length) {
  if (length > tokens_.size()) {
    return Error{ErrorCode::kContract, "the conversation has " + std::to_string(tokens_.size()) +
                                           " tokens; it cannot go back to " +
                                           std::to_string(length)};
  }
  tokens_.resize(length);
  return {};
}

}  // namespace polystate
