#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

// What a processor keeps for one row: the state of a grammar, say. A row starts at the prompt, and
// follows the tokens that are chosen for it. One thread at a time uses it.
class RowState {
 public:
  RowState() = default;
  RowState(const RowState&) = delete;
  RowState& operator=(const RowState&) = delete;
  virtual ~RowState() = default;

  // The row has one more token.
  virtual Status advance(TokenId token) = 0;
  // An equal state, which goes on by itself: of a row that starts with the same tokens.
  [[nodiscard]] virtual Result<std::unique_ptr<RowState>> fork() const = 0;
  // Forgets the last `count` tokens that it advanced by.
  virtual Status rewind(std::size_t count) = 0;
};

// What a row has read and generated when its next token is chosen.
struct TokenContext {
  std::span<const TokenId> tokens;  // of the decoder, from its start token or prompt on
  std::size_t prompt_length;        // how many of them were given, not generated
  std::span<const TokenId> source;  // of the encoder, without padding; empty where there is none
  RowState* state = nullptr;        // what LogitsProcessor::start gave for this row
};

// Changes the scores of a row's next token. Subclasses of the user's own run after those that the
// configuration asks for and before temperature, top-k and their like. Immutable: rows may be
// processed by several threads at once. What a processor keeps for a row is a RowState:
//
//   Result<std::unique_ptr<RowState>> start(const TokenContext&) const override {
//     return std::unique_ptr<RowState>(std::make_unique<MyState>(...));
//   }
//   Status process(const TokenContext& context, std::span<float> scores) const override {
//     return static_cast<MyState&>(*context.state).mask(scores);
//   }
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;

  // The state of a row that has read its prompt, `context.tokens`. Null, the default: it keeps
  // none.
  virtual Result<std::unique_ptr<RowState>> start(const TokenContext& context) const;

  // `scores` [vocabulary] are logits, or log-probabilities in a beam search; -inf forbids a token.
  virtual Status process(const TokenContext& context, std::span<float> scores) const = 0;
};

using LogitsProcessors = std::vector<std::shared_ptr<const LogitsProcessor>>;

// What the processors of one generation depend on besides the configuration.
struct ProcessorContext {
  std::size_t prompt_length;    // tokens that the decoder is given
  std::int64_t max_length;      // of the decoder's sequence, prompt included
  std::size_t vocabulary_size;  // scores of a row
};

// The processors that a configuration asks for, in transformers' order, with `own` where it has the
// user's: temperature, top_k and what follows them only with do_sample. kContract for what
// `validate` refuses, and for a biased, forbidden (bad_words_ids) or forced token that is not in
// the vocabulary.
Result<LogitsProcessors> make_logits_processors(const GenerationConfig& config,
                                                const ProcessorContext& setting,
                                                const LogitsProcessors& own = {});

}  // namespace polystate
