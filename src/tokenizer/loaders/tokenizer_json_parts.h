#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json_cursor.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/post_processors/padding.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/post_processors/truncation.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/regex/pattern.h"

// Readers of the parts of a tokenizer.json. Each stores its error where the cursor does and then
// returns nothing of use. An unknown "type" is kUnsupported and named.
namespace polystate::tokenizer {

std::unique_ptr<const Normalizer> read_normalizer(const JsonCursor& json);

struct PreTokenizerRead {
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  // Whether it leaves out a last step that writes bytes in the byte alphabet: the model is then to
  // read bytes.
  bool gives_bytes = false;
};
// `bytes_suit`: the model can read bytes.
PreTokenizerRead read_pre_tokenizer(const JsonCursor& json, bool bytes_suit);

// "prepend_scheme" of Metaspace, or the older "add_prefix_space".
PrependScheme read_prepend_scheme(const JsonCursor& json);

std::unique_ptr<const PostProcessor> read_post_processor(const JsonCursor& json);

std::vector<std::unique_ptr<const Decoder>> read_decoders(const JsonCursor& json);

Truncation read_truncation(const JsonCursor& json);
Padding read_padding(const JsonCursor& json);

// {"String": "..."} or {"Regex": "..."}.
std::optional<Pattern> read_pattern(const JsonCursor& json);

}  // namespace polystate::tokenizer
