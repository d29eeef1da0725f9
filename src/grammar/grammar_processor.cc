#include "grammar/grammar_processor.h"

#include <dlpack/dlpack.h>
#include <xgrammar/matcher.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grammar/token_mask.h"
#include "grammar/xgrammar_calls.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::grammar {
namespace {

// How far the text of a row is in a grammar.
class GrammarState final : public RowState {
 public:
  // `before_text`: how many tokens come before the text.
  GrammarState(const std::shared_ptr<const Constraint>& constraint, std::size_t before_text)
      : GrammarState(constraint, matcher_of(*constraint, constraint->grammar), before_text) {}

  Status advance(TokenId token) override {
    if (is_followed()) {
      const Result<bool> accepted = called([&]() -> Result<bool> {
        return is_before_text() || (!matcher_.IsTerminated() && accept(token));
      });
      if (!accepted) return accepted.error();
      if (*accepted) ++followed_;
    }
    last_bytes_.push_back(constraint_->tokens->last_byte(token));
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<RowState>> fork() const override {
    return called([&]() -> Result<std::unique_ptr<RowState>> {
      auto copy = std::unique_ptr<GrammarState>(
          new GrammarState(constraint_, matcher_.Fork(), before_text_));
      copy->last_bytes_ = last_bytes_;
      copy->followed_ = followed_;
      return std::unique_ptr<RowState>(std::move(copy));
    });
  }

  Status rewind(std::size_t count) override {
    const std::size_t left = last_bytes_.size() - count;
    const std::size_t of_text = std::max(left, before_text_);
    if (of_text < followed_) {
      const Status done = called([&]() -> Status {
        matcher_.Rollback(static_cast<int>(followed_ - of_text));
        return {};
      });
      if (!done) return done;
    }
    followed_ = std::min(followed_, left);
    last_bytes_.resize(left);
    return {};
  }

  // Whether the grammar has followed all tokens. A beam search goes on with others where there are
  // fewer that may follow than beams: such a row stays without a chance.
  [[nodiscard]] bool is_followed() const { return followed_ == last_bytes_.size(); }

  // Whether the next token is the one that the configuration forces.
  [[nodiscard]] bool is_before_text() const { return last_bytes_.size() < before_text_; }

  // Bits of the tokens that may follow; empty where any may.
  Result<std::span<const std::int32_t>> mask() {
    const Result<bool> is_needed = called([&]() -> Result<bool> { return fill_mask(); });
    if (!is_needed) return is_needed.error();
    if (!*is_needed) return std::span<const std::int32_t>();
    // xgrammar leaves the bits behind the last token as they come.
    if (const std::size_t rest = vocabulary() % kMaskBits; rest != 0) {
      mask_.back() =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(mask_.back()) & ((1U << rest) - 1U));
    }
    const unsigned char last = last_bytes_.empty() ? 0 : last_bytes_.back();
    for (const TokenId token : constraint_->tokens->forbidden_after(last)) {
      std::int32_t& word = mask_[token / kMaskBits];
      word =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(word) & ~(1U << token % kMaskBits));
    }
    return std::span<const std::int32_t>(mask_);
  }

 private:
  GrammarState(std::shared_ptr<const Constraint> constraint, xgrammar::GrammarMatcher matcher,
               std::size_t before_text)
      : constraint_(std::move(constraint)),
        before_text_(before_text),
        matcher_(std::move(matcher)),
        mask_(static_cast<std::size_t>(
            xgrammar::GetBitmaskSize(constraint_->grammar.GetTokenizerInfo().GetVocabSize()))) {}

  static xgrammar::GrammarMatcher matcher_of(const Constraint& constraint,
                                             const xgrammar::CompiledGrammar& grammar) {
    return {grammar, constraint.ends};
  }

  // Tokens that the grammar knows of.
  [[nodiscard]] std::size_t vocabulary() const {
    return static_cast<std::size_t>(constraint_->grammar.GetTokenizerInfo().GetVocabSize());
  }
  [[nodiscard]] bool is_first_token() const {
    return constraint_->first_tokens != nullptr && last_bytes_.size() == before_text_;
  }

  bool accept(TokenId token) {
    const bool is_end = std::ranges::count(constraint_->ends, static_cast<int>(token)) > 0;
    if (!is_first_token() || is_end) return matcher_.AcceptToken(static_cast<std::int32_t>(token));
    const std::vector<std::string>& texts = *constraint_->first_tokens->texts;
    return token < texts.size() && !texts[token].empty() && matcher_.AcceptString(texts[token]);
  }

  bool fill_mask() {
    std::int64_t size = std::ssize(mask_);
    DLTensor tensor = {.data = mask_.data(),
                       .device = {kDLCPU, 0},
                       .ndim = 1,
                       .dtype = xgrammar::GetBitmaskDLType(),
                       .shape = &size,
                       .strides = nullptr,
                       .byte_offset = 0};
    if (matcher_.IsTerminated()) return false;
    if (!is_first_token()) return matcher_.FillNextTokenBitmask(&tensor);
    return matcher_of(*constraint_, constraint_->first_tokens->grammar)
        .FillNextTokenBitmask(&tensor);
  }

  std::shared_ptr<const Constraint> constraint_;
  std::size_t before_text_;
  xgrammar::GrammarMatcher matcher_;
  std::vector<unsigned char> last_bytes_;  // of the tokens that were chosen
  std::size_t followed_ = 0;               // of these, from the first on
  std::vector<std::int32_t> mask_;
};

}  // namespace

Result<std::unique_ptr<RowState>> GrammarProcessor::start(const TokenContext& context) const {
  // The first token is forced only where the prompt is one token.
  const bool has_first = constraint_->forced_first && context.prompt_length <= 1;
  const std::size_t before_text = has_first ? 1 : 0;
  return called([&]() -> Result<std::unique_ptr<RowState>> {
    return std::unique_ptr<RowState>(std::make_unique<GrammarState>(constraint_, before_text));
  });
}

Status GrammarProcessor::process(const TokenContext& context, std::span<float> scores) const {
  auto& state = static_cast<GrammarState&>(*context.state);
  if (!state.is_followed()) {
    forbid_others({}, scores);
    return {};
  }
  if (state.is_before_text()) return {};
  const auto mask = state.mask();
  if (!mask) return mask.error();
  if (mask->empty() || forbid_others(*mask, scores)) return {};
  return Error{ErrorCode::kContract,
               "no token continues the text within the grammar of response_format: where they are "
               "set, min_length, min_new_tokens, bad_words_ids and the like may forbid those that "
               "would"};
}

}  // namespace polystate::grammar
