#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"

namespace polystate {

// A text of tokens that goes on, of a decoder alone (Chat has messages): each `generate` reads what
// is new of it, and nothing twice. Copies are forks, which go on by themselves. It holds pages of
// its runner, as a KeptSequence that yields to its own next turn alone, where no fork has it: what
// lies in a page that is not full is read again then. One thread at a time uses it.
class Conversation {
 public:
  // `runner` outlives it.
  explicit Conversation(Runner& runner) : runner_(&runner) {}

  // All tokens, given and generated.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }

  // Appends `tokens`, and what is generated after them. What it costs says how many tokens had been
  // read before. Errors as Runner::generate, with the conversation as it was.
  Result<GenerationResult> generate(std::span<const TokenId> tokens,
                                    const GenerationOptions& options = {});
  // Goes back to the first `length` tokens. kContract where there are fewer.
  Status rewind(std::size_t length);
  // The same text, which goes on by itself.
  [[nodiscard]] Conversation fork() const { return *this; }

 private:
  Runner* runner_;
  std::vector<TokenId> tokens_;
  std::shared_ptr<const KeptSequence> kept_;  // shared with forks; null before the first turn
};

}  // namespace polystate
