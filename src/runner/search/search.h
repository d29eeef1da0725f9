#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate {

// What a search is for: one input of a generation. All that is borrowed outlives the search.
struct SearchContext {
  const GenerationConfig& config;
  const LogitsProcessors& processors;
  const Sampler& sampler;  // not for beams
  const StoppingCriteria& stopping_criteria;
  std::span<const TokenId> prompt;  // at least one token
  std::span<const TokenId> source;  // the encoder's tokens
  std::int64_t max_length;          // of a sequence, its prompt included
  std::uint64_t seed;
  std::uint64_t first_sequence;  // number of its first sequence, see SamplePlace
  bool is_out_of_time = false;   // max_length is what max_time left
};

// A row of the next step: which of the present rows it goes on from, and the token that it reads.
struct Continuation {
  std::size_t parent;
  TokenId token;
};

// Chooses the tokens of one input's sequences, step by step, from the logits that a model gives. It
// sees no other input, so that its result does not depend on one.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  // The rows of the next step; none when the search is over. At first a single one, which has read
  // the prompt but its last token.
  [[nodiscard]] virtual std::span<const Continuation> next() const = 0;

  // Takes the logits after next()'s tokens [next().size(), vocabulary], which it overwrites, and
  // chooses what follows. kContract when no token is left to choose; the search is not usable then.
  virtual Status advance(std::span<float> logits) = 0;

  // Makes the tokens that `advance` chooses next the last ones, as a max_length of this length
  // does.
  virtual void end_with_next() = 0;

  // The most rows that it will have from now on.
  [[nodiscard]] virtual std::size_t most_rows() const = 0;

  // All tokens of a row of the next step, the one that it reads included.
  [[nodiscard]] virtual std::span<const TokenId> tokens_of(std::size_t row) const = 0;

  // All tokens of the first sequence.
  [[nodiscard]] virtual std::span<const TokenId> tokens() const = 0;

  // num_return_sequences sequences, best first. Before a search of no beams is over: as they are.
  virtual std::vector<GeneratedSequence> take_results() = 0;
};

// The search that the configuration asks for. Errors as LogitsProcessor::start.
Result<std::unique_ptr<Search>> make_search(const SearchContext& context);

// Row `row` of logits [rows, vocabulary].
inline std::span<float> row_of(std::span<float> logits, std::size_t rows, std::size_t row) {
  const std::size_t vocabulary = logits.size() / rows;
  return logits.subspan(row * vocabulary, vocabulary);
}

// Why a sequence ends with the last of its tokens, which was chosen just now; nothing where it goes
// on. Errors as StoppingCriterion::is_met.
Result<std::optional<FinishReason>> end_of(const SearchContext& context,
                                           std::span<const TokenId> tokens);

}  // namespace polystate
