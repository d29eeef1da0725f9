#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/post_processors/padding.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/post_processors/truncation.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// A token that a text starts with, before it is normalized.
struct LeadingToken {
  std::size_t size;  // bytes, more than 0
  TokenId id;
};

// What a tokenizer is made of, in the order that a text goes through it. Loaders fill it in; null
// stages do nothing.
struct Stages {
  std::vector<AddedToken> added_tokens;
  // Finds a token at the start of what lies between added tokens. Only with a normalizer.
  std::function<std::optional<LeadingToken>(std::string_view)> leading_token;
  std::unique_ptr<const Normalizer> normalizer;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  std::unique_ptr<const Model> model;  // never null
  std::optional<Truncation> truncation;
  std::unique_ptr<const PostProcessor> post_processor;
  std::optional<Padding> padding;

  // And back. What the first decoder is given for a token of the model, where that is not the token
  // itself.
  std::function<std::string(TokenId, std::string_view)> decoded_token;
  std::vector<TokenId> hidden_tokens;  // left out when special tokens are, though not added ones
  std::vector<std::unique_ptr<const Decoder>> decoders;

  std::vector<std::string> warnings;
};

}  // namespace polystate::tokenizer
