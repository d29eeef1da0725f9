#pragma once

#include <xgrammar/matcher.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grammar/utf8_tokens.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::grammar {

// Forbids every token by which a text cannot become what a grammar describes.
class GrammarProcessor final : public LogitsProcessor {
 public:
  // `ends`: tokens that end a sequence, at least one.
  GrammarProcessor(xgrammar::CompiledGrammar grammar, std::shared_ptr<const Utf8Tokens> tokens,
                   std::vector<int> ends, std::optional<TokenId> forced_first)
      : grammar_(std::move(grammar)),
        tokens_(std::move(tokens)),
        ends_(std::move(ends)),
        forced_first_(forced_first) {}

  [[nodiscard]] Result<std::unique_ptr<RowState>> start(const TokenContext& context) const override;
  [[nodiscard]] Status process(const TokenContext& context, std::span<float> scores) const override;

 private:
  xgrammar::CompiledGrammar grammar_;
  std::shared_ptr<const Utf8Tokens> tokens_;
  std::vector<int> ends_;
  std::optional<TokenId> forced_first_;
};

}  // namespace polystate::grammar
