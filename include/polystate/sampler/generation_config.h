#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"

namespace polystate {

// When a beam search ends, once it has as many finished sequences as beams.
enum class EarlyStopping : std::uint8_t {
  kHeuristic,  // `false`: when no running beam of the present length could score better
  kFirst,      // `true`: at once
  kNever,      // "never": when no running beam of any length could score better
};

// What becomes of a sequence that is longer than the model's positions.
enum class ContextPolicy : std::uint8_t {
  kError,  // "error": it is refused, before anything is generated
  kSlide,  // "slide": it goes on without the tokens in its middle
};

// How sequences are generated: the fields of transformers' GenerationConfig that the runners
// honour, by its names and with its defaults (transformers 5.23). `parse` and `set` refuse the
// fields that would change the result and are not honoured, and accept those that have no meaning
// here.
struct GenerationConfig {
  // Lengths, in tokens. `max_length` counts the decoder's whole sequence, its start token or prompt
  // included; the `new` ones count what is generated and go before the others.
  std::optional<std::int64_t> max_length;      // not given: what the model has room for
  std::optional<std::int64_t> max_new_tokens;  // 0: with prompt_logprobs, which are all then
  std::int64_t min_length = 0;
  std::optional<std::int64_t> min_new_tokens;
  // Positions that the caller wants in the caches. The artifact says how many there are: a runner
  // refuses to generate where these are more, and does nothing where they are fewer.
  std::optional<std::int64_t> max_cache_len;
  // With "slide", lengths may go past the model's positions. When they are full, the model sees the
  // first `keep_tokens` of the sequence and its last ones, which fill half of the other positions;
  // they are read again, as a text of their own. Of decoders alone. Not in transformers.
  ContextPolicy context = ContextPolicy::kError;
  std::int64_t keep_tokens = 4;
  // Seconds after which a generation ends with the token that it chooses then. One token comes at
  // least.
  std::optional<double> max_time;
  // Texts that end a generation: see make_stop_strings. Only a tokenizer knows a sequence's text: a
  // Pipeline takes them, a Runner refuses to generate where there are some.
  std::vector<std::string> stop_strings;

  // Search.
  bool do_sample = false;
  std::int64_t num_beams = 1;
  std::int64_t num_return_sequences = 1;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;
  double length_penalty = 1.0;  // a beam's score is its log-probability / length ^ length_penalty

  // Sampling.
  double temperature = 1.0;
  std::int64_t top_k = 50;  // 0: all; a file may say -1 for it
  double top_p = 1.0;
  std::optional<double> min_p;
  std::optional<double> typical_p;
  std::optional<double> epsilon_cutoff;
  std::optional<double> eta_cutoff;
  std::optional<std::uint64_t> seed;  // not given: a random one

  // What changes the scores of tokens.
  double repetition_penalty = 1.0;
  double encoder_repetition_penalty = 1.0;
  // Of tokens that were generated: what is subtracted for each time, and once. By the definition of
  // OpenAI's interface, which vLLM has too; transformers has none.
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;
  std::int64_t no_repeat_ngram_size = 0;          // 0: none
  std::int64_t encoder_no_repeat_ngram_size = 0;  // 0: none
  std::vector<std::vector<TokenId>> bad_words_ids;
  std::vector<std::pair<std::vector<TokenId>, double>> sequence_bias;
  std::vector<TokenId> suppress_tokens;
  std::vector<TokenId> begin_suppress_tokens;
  std::optional<TokenId> forced_bos_token_id;
  std::vector<TokenId> forced_eos_token_id;
  // {start, factor}: factor ^ (tokens after the first `start`) raises scores of eos_token_id.
  std::optional<std::pair<std::int64_t, double>> exponential_decay_length_penalty;
  bool remove_invalid_values = false;  // NaN and infinities
  bool renormalize_logits = false;

  // What is given besides tokens: see GeneratedSequence and GenerationResult.
  bool output_scores = false;
  bool output_logits = false;
  // Log-probabilities of the generated tokens, or of the prompt's, each with those of so many of
  // the most probable tokens in its place. By vLLM's names; transformers has none. A prompt whose
  // tokens are asked for is read as a whole, also where a part of it had been read before.
  std::optional<std::int64_t> logprobs;
  std::optional<std::int64_t> prompt_logprobs;

  // Special tokens.
  std::optional<TokenId> bos_token_id;
  std::optional<TokenId> pad_token_id;
  std::vector<TokenId> eos_token_id;  // any of them ends a sequence
  std::optional<TokenId> decoder_start_token_id;

  // Reads generation_config.json. kArtifact for what is not of the right form, with the field's
  // name; kUnsupported for a field that is not honoured and would change the result. `warnings`,
  // if given, receives a sentence for each field that asks for something and has no effect, and for
  // each unknown one.
  static Result<GenerationConfig> parse(std::string_view json,
                                        std::vector<std::string>* warnings = nullptr);

  // Sets one field by transformers' name to a JSON value ("4", "true", "\"never\"", "[[3, 4]]",
  // "null": the default). kContract for an unknown name or a value that it may not have, naming
  // what it may be; kUnsupported as above. `warnings`, if given, receives a sentence when it asks
  // for something and has no effect.
  Status set(std::string_view name, std::string_view json,
             std::vector<std::string>* warnings = nullptr);
  // The names that `set` honours, in the order above.
  static std::vector<std::string_view> names();

  // Checks the numbers' limits, and fields against one another, as transformers does before it
  // generates. kContract.
  [[nodiscard]] Status validate() const;
};

}  // namespace polystate
