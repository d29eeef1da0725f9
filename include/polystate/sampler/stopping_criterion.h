#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate {

// Why a sequence has no more tokens.
enum class FinishReason : std::uint8_t {
  kStop,               // its last token is one of eos_token_id
  kLength,             // it has as many tokens as it may have
  kStopString,         // its text has one of stop_strings
  kStoppingCriterion,  // a StoppingCriterion of the user's is met
  kMaxTime,            // max_time is over
  kUnfinished,         // it was told to end, or a beam search has nothing better in its place
};

// "stop", "length", "stop_string", "stopping_criterion", "max_time" or "unfinished".
std::string_view name_of(FinishReason reason);

// Ends a sequence by the tokens that it has, where neither an end token nor its length does.
// Immutable: rows may be asked about by several threads at once.
class StoppingCriterion {
 public:
  virtual ~StoppingCriterion() = default;

  // Whether the sequence ends with the last of `context.tokens`, which was chosen just now: asked
  // once for each token. In a beam search for every candidate. `context.state` is null.
  virtual Result<bool> is_met(const TokenContext& context) const = 0;

  // What is said of a sequence that it ended.
  [[nodiscard]] virtual FinishReason reason() const { return FinishReason::kStoppingCriterion; }
};

using StoppingCriteria = std::vector<std::shared_ptr<const StoppingCriterion>>;

}  // namespace polystate
