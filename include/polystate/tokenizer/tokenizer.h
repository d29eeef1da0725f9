#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate {

// A text to encode, or a pair of texts that become one encoding. It refers to the caller's texts.
struct EncodeInput {
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
  EncodeInput(const Text& text) : first(text) {}
  EncodeInput(std::string_view a, std::string_view b) : first(a), second(b) {}

  std::string_view first;
  std::optional<std::string_view> second;
};

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
  // For Marian's pair of models: encode with the target language's model.
  bool target_language = false;
};

// What to do with the text of a special token, such as "</s>", inside a text to encode.
enum class SpecialTokenPolicy : std::uint8_t {
  kAccept,     // it becomes that token
  kPlainText,  // it is text like any other
  kRefuse,     // kContract, naming the token and where it is
};

struct EncodeOptions {
  bool add_special_tokens = true;  // those that the file's post-processor adds
  bool offsets = false;            // fill Encoding::offsets
  SpecialTokenPolicy special_tokens = SpecialTokenPolicy::kAccept;
  std::size_t threads = 1;  // for batches; 0: as many as the machine has
};

struct DecodeOptions {
  bool skip_special_tokens = true;
};

// Turns text into ids and back. `open` and `parse` make one that does it as the library does that
// the file comes from; a class of the user's own serves wherever a tokenizer is asked for.
// Immutable: any number of threads may use it at once.
//
// Text is UTF-8. Malformed bytes are read as U+FFFD, one for each maximal part of a character, as
// Python's errors="replace" does; offsets still count the caller's bytes. A text may have 128 MiB.
class Tokenizer {
 public:
  // `path` is a file (tokenizer.json, a SentencePiece model, a TikToken file), or a folder that has
  // tokenizer.json, or Marian's source.spm, target.spm and vocab.json, or one of the other files
  // under a usual name. kArtifact: the file is damaged. kUnsupported: it asks for something that is
  // not implemented, which the message names. kIo: it cannot be read.
  static Result<std::shared_ptr<const Tokenizer>> open(const std::filesystem::path& path,
                                                       const TokenizerOptions& options = {});
  // The same for a file's content, which is not referred to later.
  static Result<std::shared_ptr<const Tokenizer>> parse(TokenizerFormat format,
                                                        std::string_view content,
                                                        const TokenizerOptions& options = {});

  virtual ~Tokenizer() = default;

  // kContract: the text is too long, holds a special token that `options` refuses, makes a regular
  // expression of the file exceed its limits, or has a character that the vocabulary lacks where it
  // has no token for unknown ones.
  [[nodiscard]] virtual Result<Encoding> encode(const EncodeInput& input,
                                                const EncodeOptions& options = {}) const = 0;
  // Each input alone, then padded together where the file says so. The error is that of the first
  // input that has one; its message starts with "input 3: ", counted from 0.
  [[nodiscard]] virtual Result<std::vector<Encoding>> encode_batch(
      std::span<const EncodeInput> inputs, const EncodeOptions& options = {}) const;

  // kContract when an id is not in the vocabulary. The text is always valid UTF-8.
  [[nodiscard]] virtual Result<std::string> decode(std::span<const TokenId> ids,
                                                   const DecodeOptions& options = {}) const = 0;
  // Decodes token by token; what it gives, joined, is what `decode` gives.
  [[nodiscard]] virtual std::unique_ptr<DecodeStream> decode_stream(
      const DecodeOptions& options = {}) const = 0;

  [[nodiscard]] virtual std::optional<TokenId> token_to_id(std::string_view token) const = 0;
  // The token as the vocabulary writes it ("\u0120the", "##ing"); a TikToken file's are bytes.
  [[nodiscard]] virtual std::optional<std::string> id_to_token(TokenId id) const = 0;
  // One more than the largest id.
  [[nodiscard]] virtual std::size_t vocabulary_size() const = 0;
  [[nodiscard]] virtual bool is_special(TokenId id) const = 0;

  // What the file asks for and gets no effect here, such as dropout, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
};

}  // namespace polystate
