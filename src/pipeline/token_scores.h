#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/runner.h"

namespace polystate {

// A part of a sequence of tokens that a model reads at once.
struct ScoreWindow {
  std::size_t begin;
  std::size_t end;
  std::size_t first_scored;  // of the sequence: what is before it was scored in other windows
};

// The windows of a sequence of `size` tokens, each of at most `room` tokens, `stride` apart. None
// where no token comes after another.
std::vector<ScoreWindow> score_windows(std::size_t size, std::size_t room, std::size_t stride);

// The scores of sequences of tokens. kContract for a stride that is out of range, a token that the
// model lacks, and where it is cancelled.
Result<std::vector<TextScore>> score_tokens(Runner& runner,
                                            std::span<const std::vector<TokenId>> sequences,
                                            const ScoreOptions& options);

}  // namespace polystate
