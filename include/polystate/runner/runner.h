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
#include "polystate/sampler/stopping_criterion.h"

namespace polystate {

// What a runner has read of a sequence, and keeps.
struct KeptTokens {
  std::vector<TokenId> source;
  std::vector<TokenId> tokens;
};

// Has a runner keep what it read, so that sequences that begin alike go on from it, however often
// and from wherever they part, without reading that again. The pages are held until the last copy
// is gone, and what needs them waits; it is refused where nothing else runs. One that yields gives
// its pages up to whoever needs them, those that were kept first before others. After that, and
// after a failure of the model, it holds nothing: what begins alike is read anew. It may outlive
// its runner, and is of no use to another one.
using KeptSequence = std::shared_ptr<const KeptTokens>;

// What one generation starts from.
struct GenerationInput {
  std::vector<TokenId> source;  // the encoder's tokens; empty for a decoder alone
  std::vector<TokenId> prompt;  // the decoder's first tokens; empty: decoder_start_token_id
  // What it shares with `prompt` from the beginning is not read again, except for prompt_logprobs.
  KeptSequence kept = nullptr;
  // Whether `kept` yields to this input, whatever it does to others: where their pages together
  // would be too many, it is given up.
  bool gives_up_kept = false;
};

// A token, and the natural logarithm of its probability.
struct TokenLogprob {
  TokenId token;
  double logprob;
};

// A token of a sequence among those that could have been there. Probabilities are those of the
// model's own logits, before any processor, as vLLM's are.
struct TokenLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the most probable ones, as many as asked for, best first
};

// A generated sequence: from the prompt or the start token through the first end token. Where a
// beam search finds fewer than asked for, the others have the score -1e9 and what transformers has
// in their place: the prompt alone, for one.
struct GeneratedSequence {
  std::vector<TokenId> ids;
  // Beam search: the log-probability / generated tokens ^ length_penalty, as transformers'
  // `sequences_scores`.
  std::optional<float> score = std::nullopt;
  FinishReason finish_reason = FinishReason::kUnfinished;
  // Where `keep` was asked for: what was read of it, which is all but its last token; of a context
  // that slid what the model saw.
  KeptSequence kept = nullptr;

  // Of each generated token, where the configuration asks for it.
  std::vector<TokenLogprobs> logprobs = {};  // `logprobs`
  // `output_scores` [generated, vocabulary]: what the token was chosen by, after all processors;
  // in a beam search log-probabilities, of the beam that the sequence went on from.
  std::vector<float> scores = {};
  std::vector<float> logits =
      {};  // `output_logits` [generated, vocabulary]: as the model gave them
};

// What a generation cost, in tokens and pages.
struct GenerationUsage {
  std::int64_t prompt_tokens = 0;     // of the source and of the prompt, or its start token
  std::int64_t cached_tokens = 0;     // of these: what had been read before, and was not again
  std::int64_t generated_tokens = 0;  // of all sequences
  // Of the decoder's caches, set aside for it: of layers that see all, where there are some.
  std::int64_t pages = 0;
};

struct GenerationResult {
  std::vector<GeneratedSequence> sequences;  // best first
  GenerationUsage usage;
  // `prompt_logprobs`: of each token of the prompt but the first, which nothing comes before.
  std::vector<TokenLogprobs> prompt_logprobs = {};
};

// How one input is generated.
struct RequestOptions {
  std::optional<GenerationConfig> config = std::nullopt;  // not given: Runner::default_config
  LogitsProcessors processors = {};                       // the user's own, see LogitsProcessor
  std::shared_ptr<const Sampler> sampler = nullptr;  // null: make_sampler(config); not for beams
  StoppingCriteria stopping_criteria = {};           // any of them ends a sequence
  // Keep what was read: see GeneratedSequence::kept. Not for beams or several sequences
  // (kContract): any number of them go on from one that is kept.
  bool keep = false;
  // What is kept gives up its pages where others need them: see KeptSequence.
  bool yields = false;
  // Called with each token after it was chosen; false ends the generation, with what it has. Not
  // for beams or several sequences (kContract).
  std::function<bool(TokenId token)> on_token = nullptr;
  // Called when it is over, after its last token.
  std::function<void(Result<GenerationResult> result)> on_done = nullptr;
};

// How a call generates, of a Runner or a Pipeline.
struct CallOptions {
  // How to generate; not given: default_config().
  std::optional<GenerationConfig> config = std::nullopt;
  // As in RequestOptions, for all inputs.
  LogitsProcessors processors = {};
  std::shared_ptr<const Sampler> sampler = nullptr;
  StoppingCriteria stopping_criteria = {};
  bool keep = false;
  bool yields = false;
  // Called when an input is over, after the last of it, with what it cost.
  std::function<void(std::size_t input, const GenerationUsage& usage)> on_done = nullptr;
  // Called when an input is over, with how many of all are.
  std::function<void(std::size_t done)> on_progress = nullptr;
  // Asked again and again by the thread that made the call; true ends it (kContract).
  std::function<bool()> is_cancelled = nullptr;
  // How messages call an input: "line 17". Not given: "input 16".
  std::function<std::string(std::size_t input)> name_of = nullptr;
};

struct GenerationOptions : CallOptions {
  // As in RequestOptions, with the number of the input.
  std::function<bool(std::size_t input, TokenId token)> on_token = nullptr;
};

// The number of a request among those of a runner.
using RequestId = std::uint64_t;

// Generates tokens from tokens. Many threads may use it at once: what they ask for runs side by
// side, as far as the model's rows and pages go, and a sequence does not depend on what runs beside
// it. Whoever waits for a result runs steps for all. Functions of a caller are called between
// steps, on the thread that called `generate` or `step`, and may not use the runner (kBusy), except
// for `submit` and `cancel`.
class Runner {
 public:
  virtual ~Runner() = default;

  // num_return_sequences sequences for each input, best first. Inputs that are alike are generated
  // once, unless tokens are drawn or code of the caller's chooses or hears them.
  // kContract: an input is longer than the model's limit (the message names it, counted from 0),
  // has an unknown token, or an option is out of range.
  virtual Result<std::vector<GenerationResult>> generate(std::span<const GenerationInput> inputs,
                                                         const GenerationOptions& options = {}) = 0;

  // Has an input wait for room; `step` runs it. kContract as `generate`.
  virtual Result<RequestId> submit(GenerationInput input, RequestOptions options = {}) = 0;
  // Ends a request that was submitted, wherever it is, with kContract for its on_done. Nothing for
  // one that is over.
  virtual void cancel(RequestId request) = 0;
  // Runs one step of all that was asked for: one token for each sequence, or a part of a prompt.
  // Tells of what was submitted. False when nothing of it is left.
  virtual Result<bool> step() = 0;

  // What was kept of a sequence as bytes, with which `load_kept` goes on in another runner of the
  // same artifact, also in another process. No bytes where nothing of it is kept any more, or by a
  // runner that cannot do this.
  virtual Result<std::vector<std::byte>> save_kept(const KeptSequence& kept) {
    (void)kept;
    return std::vector<std::byte>();
  }
  // Keeps what `save_kept` gave; `yields` as in RequestOptions. Null where there is no room for its
  // pages, so that it will be read anew. kArtifact: the bytes are damaged, or of another model.
  virtual Result<KeptSequence> load_kept(std::span<const std::byte> bytes, bool yields) {
    (void)bytes;
    (void)yields;
    return KeptSequence();
  }

  // What the artifact's generation_config.json says: where a caller's options start.
  [[nodiscard]] virtual const GenerationConfig& default_config() const = 0;
  // What of it has no effect here, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
  // The most tokens of an input's source (0 without an encoder), and of a sequence as a whole.
  [[nodiscard]] virtual std::int64_t max_source_length() const = 0;
  [[nodiscard]] virtual std::int64_t max_length() const = 0;
};

}  // namespace polystate
