#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace polystate {

// How probable a model finds a text.
struct TextScore {
  double logprob = 0.0;     // the natural logarithm of the probability: the sum of its tokens'
  std::int64_t tokens = 0;  // that are counted: all but the first, which nothing comes before

  // The negative log-probability of a token, in the mean; NaN without tokens.
  [[nodiscard]] double mean_nll() const;
  // e ^ mean_nll.
  [[nodiscard]] double perplexity() const;
};

// The score of several texts together.
TextScore total(std::span<const TextScore> scores);

struct ScoreOptions {
  // Tokens from the start of one window to that of the next. A text with more tokens than there is
  // room for is read in windows that overlap; each token counts once. From 1 to one less than the
  // room (kContract otherwise); not given: half of the room. With a smaller one each token has more
  // text before it, and the call takes longer.
  std::optional<std::int64_t> stride = std::nullopt;
  // Give the model the tokens that the tokenizer adds around a text.
  bool add_special_tokens = true;
  // Called with how many texts have their score.
  std::function<void(std::size_t done)> on_progress = nullptr;
  // As in CallOptions.
  std::function<bool()> is_cancelled = nullptr;
};

}  // namespace polystate
