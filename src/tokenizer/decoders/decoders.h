#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tokenizer/decoders/decoder.h"
#include "tokenizer/regex/pattern.h"

// The decoders of a tokenizer.json, as the `tokenizers` library names them. Their classes are
// hidden in the other files. SentencePiece's are in sentence_piece.h.
namespace polystate::tokenizer {

// Turns the suffix into a space, or into nothing in the last token.
std::unique_ptr<const Decoder> bpe_decoder(std::string suffix);

// Turns runs of tokens like "<0xE2>" into the text of these bytes; where that is not UTF-8, each
// into U+FFFD.
std::unique_ptr<const Decoder> byte_fallback_decoder();

// Turns characters of the byte alphabet back into bytes, of all tokens together. A token with other
// characters stands for its own bytes. What is not UTF-8 becomes U+FFFD. `raw`: the tokens are
// given as bytes already.
std::unique_ptr<const Decoder> byte_level_decoder(bool raw);

// Leaves out repeated tokens and the padding token of connectionist temporal classification.
std::unique_ptr<const Decoder> ctc_decoder(std::string pad_token, std::string word_delimiter,
                                           bool cleanup);

// Makes one token of all.
std::unique_ptr<const Decoder> fuse_decoder();

// Puts spaces between tokens: what happens where a file names no decoder.
std::unique_ptr<const Decoder> join_decoder();

// Turns the marker into a space, or into nothing in the first token if `strips_first`.
std::unique_ptr<const Decoder> metaspace_decoder(std::string marker, bool strips_first);

// Replaces every match in each token.
std::unique_ptr<const Decoder> replace_decoder(Pattern pattern, std::string content);

inline constexpr std::size_t kMaxStripped = std::size_t{1} << 24U;

// Removes up to `start` and `stop` of a character, at most kMaxStripped, from the ends of each
// token.
std::unique_ptr<const Decoder> strip_decoder(std::string character, std::size_t start,
                                             std::size_t stop);

// Takes the prefix off tokens that continue a word, puts a space before others; `cleanup` removes
// spaces before punctuation and English contractions.
std::unique_ptr<const Decoder> word_piece_decoder(std::string prefix, bool cleanup);

}  // namespace polystate::tokenizer
