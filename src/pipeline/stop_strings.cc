#include "polystate/pipeline/stop_strings.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// What the first token of a part of a text may be decoded to otherwise than within the whole: a
// space that is left out, or the rest of a character that begins before it.
constexpr std::size_t kUnsure = 16;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD, for a part of a character

// The end of a text, and how much of it was there before its last token.
struct TextEnd {
  std::string text;
  std::size_t before;
};

class StopStrings final : public StoppingCriterion {
 public:
  StopStrings(std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> strings)
      : tokenizer_(std::move(tokenizer)), strings_(std::move(strings)) {
    for (const std::string& string : strings_) longest_ = std::max(longest_, string.size());
  }

  Result<bool> is_met(const TokenContext& context) const override {
    const Result<TextEnd> end = end_of(context.tokens);
    if (!end) return end.error();
    return std::ranges::any_of(strings_, [&](const std::string& string) {
      // A string that ended before the last token did not come now.
      const std::size_t first = end->before >= string.size() ? end->before - string.size() + 1 : 0;
      return end->text.find(string, first) != std::string::npos;
    });
  }

  [[nodiscard]] FinishReason reason() const override { return FinishReason::kStopString; }

 private:
  // Decodes as many of the last tokens as a string can have, so that a long text costs no more than
  // a short one. A part of a text that begins with U+FFFD may be cut within a run of bytes: it is
  // decoded from further back. One behind that is of the text itself, such as the character that
  // the next token completes.
  [[nodiscard]] Result<TextEnd> end_of(std::span<const TokenId> tokens) const {
    for (std::size_t count = longest_ + kUnsure;; count *= 2) {
      const auto last = tokens.last(std::min(count, tokens.size()));
      Result<std::string> text = decode(last);
      if (!text) return text.error();
      const Result<std::size_t> before = size_before(last, *text);
      if (!before) return before.error();
      const bool is_sure = *before >= longest_ + kUnsure && !text->starts_with(kReplacement);
      if (is_sure || last.size() == tokens.size()) return TextEnd{std::move(*text), *before};
    }
  }

  // How much of the text of `tokens` is there without the last of them. Where the one before it
  // ends within a character, as much as is there without all of the character.
  [[nodiscard]] Result<std::size_t> size_before(std::span<const TokenId> tokens,
                                                std::string_view text) const {
    constexpr std::size_t kCharacter = 4;  // bytes of one, each of which may be a token
    std::size_t common = 0;
    for (std::size_t removed = 1; removed <= std::min(kCharacter, tokens.size()); ++removed) {
      const Result<std::string> start = decode(tokens.first(tokens.size() - removed));
      if (!start) return start.error();
      if (text.starts_with(*start)) return start->size();
      if (removed > 1) continue;
      const auto [end, other] = std::ranges::mismatch(text, *start);
      common = static_cast<std::size_t>(end - text.begin());
    }
    return common;  // what was there has changed, as with a decoder that removes spaces
  }

  // A token that the vocabulary lacks, which a model may have more of, has no text.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> tokens) const {
    constexpr DecodeOptions kOptions = {.skip_special_tokens = false};
    Result<std::string> text = tokenizer_->decode(tokens, kOptions);
    if (text) return text;
    std::vector<TokenId> known(tokens.begin(), tokens.end());
    std::erase_if(known, [this](TokenId id) { return !tokenizer_->id_to_token(id).has_value(); });
    return tokenizer_->decode(known, kOptions);
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> strings_;
  std::size_t longest_ = 0;  // bytes
};

}  // namespace

Result<std::shared_ptr<const StoppingCriterion>> make_stop_strings(
    std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> strings) {
  if (strings.empty()) return Error{ErrorCode::kContract, "there are no stop strings"};
  if (std::ranges::any_of(strings, &std::string::empty)) {
    return Error{ErrorCode::kContract, "a stop string is empty"};
  }
  return std::shared_ptr<const StoppingCriterion>(
      std::make_shared<StopStrings>(std::move(tokenizer), std::move(strings)));
}

Status take_stop_strings(const std::shared_ptr<const Tokenizer>& tokenizer,
                         GenerationConfig& config, StoppingCriteria& criteria) {
  if (config.stop_strings.empty()) return {};
  auto criterion = make_stop_strings(tokenizer, config.stop_strings);
  if (!criterion) return criterion.error();
  criteria.push_back(std::move(*criterion));
  config.stop_strings.clear();
  return {};
}

}  // namespace polystate
