#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"

namespace polystate {

// What one generation starts from.
struct GenerationInput {
  std::vector<TokenId> source;  // the encoder's tokens; empty for a decoder alone
  std::vector<TokenId> prompt;  // the decoder's first tokens; empty: decoder_start_token_id
};

// A generated sequence: from the prompt or the start token through the first end token. Where a
// beam search finds fewer than asked for, the others have the score -1e9 and what transformers has
// in their place: the prompt alone, for one.
struct GeneratedSequence {
  std::vector<TokenId> ids;
  // Beam search: the log-probability / generated tokens ^ length_penalty, as transformers'
  // `sequences_scores`.
  std::optional<float> score;
};

struct GenerationOptions {
  GenerationConfig config = {};
  LogitsProcessors processors = {};                  // the user's own, see LogitsProcessor
  std::shared_ptr<const Sampler> sampler = nullptr;  // null: make_sampler(config); not for beams
  // Called with each token as it is chosen, with the number of its input; false ends the
  // generation of that input. Not for beams or several sequences of one input (kContract).
  std::function<bool(std::size_t input, TokenId token)> on_token = nullptr;
  // Called with the number of an input that is finished, after its last token.
  std::function<void(std::size_t input)> on_done = nullptr;
  // Called when an input is finished, with how many of all are.
  std::function<void(std::size_t done)> on_progress = nullptr;
  // Asked before each step, by every thread that runs one; true ends the generation (kContract).
  std::function<bool()> is_cancelled = nullptr;
};

// Generates tokens from tokens. One caller at a time, as a Session is.
class Runner {
 public:
  virtual ~Runner() = default;

  // num_return_sequences sequences for each input, best first. Inputs run side by side as far as
  // the model's rows go; a sequence does not depend on what ran beside it. Inputs that are alike
  // are generated once, unless tokens are drawn or code of the caller's chooses or hears them.
  // kContract: an input is longer than the model's limit (the message names it, counted from 0),
  // has an unknown token, or an option is out of range.
  virtual Result<std::vector<std::vector<GeneratedSequence>>> generate(
      std::span<const GenerationInput> inputs, const GenerationOptions& options) = 0;

  // What the artifact's generation_config.json says: where a caller's options start.
  [[nodiscard]] virtual const GenerationConfig& default_config() const = 0;
  // What of it has no effect here, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
  // The most tokens of an input's source, and of a whole generated sequence.
  [[nodiscard]] virtual std::int64_t max_source_length() const = 0;
  [[nodiscard]] virtual std::int64_t max_length() const = 0;
};

}  // namespace polystate
