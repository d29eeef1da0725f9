#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// Tokens of one text, or tokens that were added.
struct EncodedPart {
  Encoding encoding;
  std::size_t text = 0;  // which of the pair
};

struct PostProcessing {
  bool add_special_tokens;
  bool offsets;
  std::vector<std::string_view> texts;
  // What stands for a token, made of `text`: that, where an added token was found in it, else the
  // token as the vocabulary writes it.
  std::function<std::string_view(TokenId, std::string_view text)> token;
};

// Adds tokens around encoded texts. It is given one part for each text, and the parts that it
// leaves are joined. Immutable, and shared by threads.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;

  virtual void process(const PostProcessing& with, std::vector<EncodedPart>& parts) const = 0;
  // How many tokens it adds to a text, or to a pair.
  [[nodiscard]] virtual std::size_t added_tokens(bool pair) const = 0;
};

// One after the other.
class PostProcessorSequence : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<std::unique_ptr<const PostProcessor>> parts)
      : parts_(std::move(parts)) {}
  void process(const PostProcessing& with, std::vector<EncodedPart>& parts) const override;
  [[nodiscard]] std::size_t added_tokens(bool pair) const override;

 private:
  std::vector<std::unique_ptr<const PostProcessor>> parts_;
};

// Takes the spaces that byte-level tokens start and end with out of their offsets (ByteLevel).
class TrimOffsets : public PostProcessor {
 public:
  // `add_prefix_space`: one space before the text was not in it.
  explicit TrimOffsets(bool add_prefix_space) : add_prefix_space_(add_prefix_space) {}
  void process(const PostProcessing& with, std::vector<EncodedPart>& parts) const override;
  [[nodiscard]] std::size_t added_tokens(bool) const override { return 0; }

 private:
  void trim(const PostProcessing& with, std::string_view text, Encoding& encoding) const;

  bool add_prefix_space_;
};

// [CLS] first [SEP] second [SEP] (BertProcessing), or <s> first </s></s> second </s>
// (RobertaProcessing).
class ClassificationTokens : public PostProcessor {
 public:
  enum class Style : std::uint8_t { kBert, kRoberta };
  ClassificationTokens(Style style, TokenId start, TokenId separator)
      : style_(style), start_(start), separator_(separator) {}
  void process(const PostProcessing& with, std::vector<EncodedPart>& parts) const override;
  [[nodiscard]] std::size_t added_tokens(bool pair) const override {
    return pair ? (style_ == Style::kBert ? 3 : 4) : 2;
  }

 private:
  Style style_;
  TokenId start_;
  TokenId separator_;
};

// Texts and added tokens in the order that a template gives (TemplateProcessing).
class Template : public PostProcessor {
 public:
  struct Item {
    std::optional<std::size_t> text;  // 0 or 1; none: `ids` are added
    std::vector<TokenId> ids;
    std::uint32_t type_id = 0;
  };
  // Items of `single` have no text 1.
  Template(std::vector<Item> single, std::vector<Item> pair)
      : single_(std::move(single)), pair_(std::move(pair)) {}
  void process(const PostProcessing& with, std::vector<EncodedPart>& parts) const override;
  [[nodiscard]] std::size_t added_tokens(bool pair) const override;

 private:
  std::vector<Item> single_;
  std::vector<Item> pair_;
};

}  // namespace polystate::tokenizer
