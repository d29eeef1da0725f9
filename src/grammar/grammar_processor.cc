#include "grammar/grammar_processor.h"

#include <dlpack/dlpack.h>
#include <xgrammar/matcher.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grammar/utf8_tokens.h"
#include "grammar/xgrammar_calls.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::grammar {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();
constexpr std::size_t kBits = 32;  // of a word of a mask

// How far the text of a row is in a grammar.
class GrammarState final : public RowState {
 public:
  // `vocabulary`: tokens that the grammar knows of.
  GrammarState(xgrammar::GrammarMatcher matcher, std::shared_ptr<const Utf8Tokens> tokens,
               std::optional<TokenId> forced_first, int vocabulary)
      : matcher_(std::move(matcher)),
        tokens_(std::move(tokens)),
        forced_first_(forced_first),
        vocabulary_(vocabulary),
        mask_(static_cast<std::size_t>(xgrammar::GetBitmaskSize(vocabulary))) {}

  Status advance(TokenId token) override {
    if (!is_before_first()) {
      const Result<bool> accepted =
          called([&] { return matcher_.AcceptToken(static_cast<std::int32_t>(token)); });
      if (!accepted) return accepted.error();
      if (!*accepted) {
        return Error{ErrorCode::kContract, "token " + std::to_string(token) +
                                               " was chosen, which response_format does not allow"};
      }
    }
    last_bytes_.push_back(tokens_->last_byte(token));
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<RowState>> fork() const override {
    return called([&]() -> std::unique_ptr<RowState> {
      auto copy =
          std::make_unique<GrammarState>(matcher_.Fork(), tokens_, forced_first_, vocabulary_);
      copy->last_bytes_ = last_bytes_;
      return copy;
    });
  }

  Status rewind(std::size_t count) override {
    const std::size_t left = last_bytes_.size() - count;
    const std::size_t skipped = forced_first_ && left == 0 ? 1 : 0;
    const Result<bool> done = called([&] {
      matcher_.Rollback(static_cast<int>(count - skipped));
      return true;
    });
    if (!done) return done.error();
    last_bytes_.resize(left);
    return {};
  }

  // Whether the next token is the one that the configuration forces.
  [[nodiscard]] bool is_before_first() const { return forced_first_ && last_bytes_.empty(); }

  // Bits of the tokens that may follow; empty where any may.
  Result<std::span<const std::int32_t>> mask() {
    std::int64_t size = std::ssize(mask_);
    DLTensor tensor = {};
    tensor.data = mask_.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 1;
    tensor.shape = &size;
    tensor.dtype = xgrammar::GetBitmaskDLType();
    const Result<bool> is_needed =
        called([&] { return !matcher_.IsTerminated() && matcher_.FillNextTokenBitmask(&tensor); });
    if (!is_needed) return is_needed.error();
    if (!*is_needed) return std::span<const std::int32_t>();
    for (const TokenId token :
         tokens_->forbidden_after(last_bytes_.empty() ? 0 : last_bytes_.back())) {
      std::int32_t& word = mask_[token / kBits];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) & ~(1U << token % kBits));
    }
    return std::span<const std::int32_t>(mask_);
  }

 private:
  xgrammar::GrammarMatcher matcher_;
  std::shared_ptr<const Utf8Tokens> tokens_;
  std::optional<TokenId> forced_first_;
  int vocabulary_;
  std::vector<unsigned char> last_bytes_;  // of the tokens that were chosen
  std::vector<std::int32_t> mask_;
};

// Whether any score is left.
bool forbid(std::span<const std::int32_t> mask, std::span<float> scores) {
  bool is_any_left = false;
  for (std::size_t word = 0; word * kBits < scores.size(); ++word) {
    const std::span<float> of_word =
        scores.subspan(word * kBits, std::min(kBits, scores.size() - word * kBits));
    const auto bits = word < mask.size() ? static_cast<std::uint32_t>(mask[word]) : 0U;
    if (bits == 0) {
      std::ranges::fill(of_word, kForbidden);
      continue;
    }
    for (std::size_t i = 0; i < of_word.size(); ++i) {
      if ((bits >> i & 1U) == 0) of_word[i] = kForbidden;
      is_any_left = is_any_left || of_word[i] != kForbidden;
    }
  }
  return is_any_left;
}

}  // namespace

Result<std::unique_ptr<RowState>> GrammarProcessor::start(const TokenContext&) const {
  return called([&]() -> std::unique_ptr<RowState> {
    return std::make_unique<GrammarState>(xgrammar::GrammarMatcher(grammar_, ends_), tokens_,
                                          forced_first_,
                                          grammar_.GetTokenizerInfo().GetVocabSize());
  });
}

Status GrammarProcessor::process(const TokenContext& context, std::span<float> scores) const {
  auto& state = static_cast<GrammarState&>(*context.state);
  if (state.is_before_first()) return {};
  const auto mask = state.mask();
  if (!mask) return mask.error();
  if (mask->empty() || forbid(*mask, scores)) return {};
  return Error{ErrorCode::kContract,
               "response_format allows no token that the configuration allows as well: compare "
               "it with min_length, min_new_tokens, bad_words_ids and the like"};
}

}  // namespace polystate::grammar
