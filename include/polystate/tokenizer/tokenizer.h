#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/named_files.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"  // IWYU pragma: export

namespace polystate {

// Turns text into ids and back. `open` and `parse` make one that does it as the library does that
// the file comes from; a class of the user's own serves wherever a tokenizer is asked for.
// Immutable: any number of threads may use it at once.
//
// Nothing throws but std::bad_alloc, and only where there is no Result to say it: there it is
// kEngine.
//
// Text is UTF-8. Malformed bytes are read as U+FFFD, one for each maximal part of a character, as
// Python's errors="replace" does; offsets still count the caller's bytes. A text may have 128 MiB.
class Tokenizer {
 public:
  // `path` is a file (tokenizer.json, a SentencePiece model, a TikToken file), or a folder that has
  // tokenizer.json, or Marian's source.spm, target.spm and vocab.json, or M2M100's
  // sentencepiece.bpe.model and vocab.json, or one of the other files under a usual name.
  // kArtifact: the file is damaged. kUnsupported: it asks for something that is not implemented,
  // which the message names. kIo: it cannot be read.
  static Result<std::shared_ptr<const Tokenizer>> open(const std::filesystem::path& path,
                                                       const TokenizerOptions& options = {});
  // The same for the files of a place: of a folder, or those that an artifact lists (see
  // tokenizer_of), in place of a folder's path.
  static Result<std::shared_ptr<const Tokenizer>> open(const NamedFiles& files,
                                                       const TokenizerOptions& options = {});
  // The same for a file's content, which is not referred to later.
  static Result<std::shared_ptr<const Tokenizer>> parse(TokenizerFormat format,
                                                        std::string_view content,
                                                        const TokenizerOptions& options = {});

  virtual ~Tokenizer() = default;

  // kContract: the text is too long, holds a special token that `options` refuses, makes a regular
  // expression of the file exceed its limits, has a character that the vocabulary lacks where it
  // has no token for unknown ones, or spells a token of PlainParts that plain text becomes, too.
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

  // The bytes that a token adds to a text which goes on around it; they may be a part of a
  // character. kUnsupported, the default, where that depends on its neighbours (WordPiece).
  // kContract when the id is not in the vocabulary.
  [[nodiscard]] virtual Result<std::string> token_bytes(TokenId id) const;

  [[nodiscard]] virtual std::optional<TokenId> token_to_id(std::string_view token) const = 0;
  // The token as the vocabulary writes it ("\u0120the", "##ing"); a TikToken file's are bytes.
  [[nodiscard]] virtual std::optional<std::string> id_to_token(TokenId id) const = 0;
  // One more than the largest id.
  [[nodiscard]] virtual std::size_t vocabulary_size() const = 0;
  [[nodiscard]] virtual bool is_special(TokenId id) const = 0;
  // The tokens that are found in a text before the model sees it, special ones among them,
  // ascending.
  [[nodiscard]] virtual std::vector<TokenId> added_tokens() const { return {}; }

  // What the file asks for and gets no effect here, such as dropout, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
};

}  // namespace polystate
