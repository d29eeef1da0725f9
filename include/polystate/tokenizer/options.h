#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate {

enum class TokenizerFormat : std::uint8_t {
  kTokenizerJson,  // tokenizer.json of the `tokenizers` library, version 1.0
  kSentencePiece,  // SentencePiece's .model, a protobuf ModelProto
  kTikToken,       // lines of base64 and a rank
};

// What a TikToken file leaves out: how to split text, and which special tokens there are.
struct TikTokenOptions {
  std::string pattern;  // in the syntax of Rust's fancy-regex
  std::map<std::string, TokenId> special_tokens;
};

struct TokenizerOptions {
  // For TikToken files. Not given: by the file's name (r50k_base, p50k_base, cl100k_base,
  // o200k_base, with any ending), else kContract.
  std::optional<TikTokenOptions> tik_token;
  // For Marian's and M2M100's tokenizers: encode texts in the target language.
  bool target_language = false;
};

// A text to encode, or a pair of texts that become one encoding. It refers to the caller's texts.
struct EncodeInput {
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
  EncodeInput(const Text& text) : first(text) {}
  EncodeInput(std::string_view a, std::string_view b) : first(a), second(b) {}

  std::string_view first;
  std::optional<std::string_view> second;
};

// What to do with the text of a special token, such as "</s>", inside a text to encode.
enum class SpecialTokenPolicy : std::uint8_t {
  kAccept,     // it becomes that token
  kPlainText,  // it is text like any other
  kRefuse,     // kContract, naming the token and where it is
};

// The policy of a name: "accept", "plain_text" or "refuse"; kContract for any other.
Result<SpecialTokenPolicy> special_token_policy(std::string_view name);

enum class OffsetUnit : std::uint8_t {
  kByte,
  kCodePoint,  // as Python counts; what one U+FFFD stands for is one
};

// Parts of a text in which some added tokens are text like any other, such as what users wrote in a
// chat. A token is one where no byte of its spelling is in such a part.
struct PlainParts {
  std::vector<TextRange> ranges;  // in bytes, ascending and apart
  std::vector<TokenId> tokens;    // ascending
};

struct EncodeOptions {
  bool add_special_tokens = true;  // those that the file's post-processor adds
  bool offsets = false;            // fill Encoding::offsets
  OffsetUnit offset_unit = OffsetUnit::kByte;
  SpecialTokenPolicy special_tokens = SpecialTokenPolicy::kAccept;
  PlainParts plain_parts = {};  // of the first text
  bool truncate = true;         // where the file says so, as it says
  bool pad = true;              // likewise
  std::size_t threads = 1;      // for batches; 0: as many as the machine has
};

struct DecodeOptions {
  bool skip_special_tokens = true;
};

}  // namespace polystate
