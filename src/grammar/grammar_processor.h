#pragma once

#include <xgrammar/compiler.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grammar/utf8_tokens.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::grammar {

// The vocabulary of a text's first token, whose tokens have lost the space that no text begins
// with.
struct FirstTokens {
  xgrammar::CompiledGrammar grammar;
  std::shared_ptr<const std::vector<std::string>> texts;  // by token
};

// What a text has to be.
struct Constraint {
  xgrammar::CompiledGrammar grammar;
  std::shared_ptr<const Utf8Tokens> tokens;
  // Null where they are those in the middle of a text.
  std::shared_ptr<const FirstTokens> first_tokens;
  std::vector<int> ends;
  std::optional<TokenId> forced_first;  // no part of the text
};

// Forbids every token by which a text cannot become what a constraint says.
class GrammarProcessor final : public LogitsProcessor {
 public:
  explicit GrammarProcessor(Constraint constraint)
      : constraint_(std::make_shared<const Constraint>(std::move(constraint))) {}

  [[nodiscard]] Result<std::unique_ptr<RowState>> start(const TokenContext& context) const override;
  [[nodiscard]] Status process(const TokenContext& context, std::span<float> scores) const override;

 private:
  std::shared_ptr<const Constraint> constraint_;
};

}  // namespace polystate::grammar
