#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Where a constrained text stands.
struct ConstrainedText {
  // The tokens that end it, at least one: allowed where the text may end, and nowhere else.
  std::vector<TokenId> ends;
  // The first token of every sequence, where the configuration forces one; no part of the text.
  std::optional<TokenId> forced_first = std::nullopt;
  // Whether the text is decoded by itself, not as the continuation of a prompt. Tokenizers that put
  // a space before every word then leave out the one before the first.
  bool is_whole = false;
};

// Special tokens that constrained texts may have.
struct TextMarkers {
  std::vector<TokenId> markers = {};  // as their text
  // They add nothing to a text that is read: for a format each of them is GrammarCompiler::kUnread.
  std::vector<TokenId> unread = {};

  bool operator==(const TextMarkers&) const = default;
};

// Makes processors that allow those tokens alone by which a text can still become what a format
// asks for. Many threads may use it at once.
class GrammarCompiler {
 public:
  // Reads the whole vocabulary: some 0.1 s for 128,000 tokens. kUnsupported: this build has no
  // grammars, or what a token adds to a text depends on its neighbours (WordPiece).
  static Result<std::shared_ptr<const GrammarCompiler>> create(const Tokenizer& tokenizer,
                                                               const TextMarkers& special = {});
  static constexpr std::string_view kUnread = "\x01";

  virtual ~GrammarCompiler() = default;

  // A processor for a format; the last ones are kept. Special tokens other than the ends and
  // those that `create` was given are never allowed.
  //
  // kContract: the format is malformed, or too large (1 MiB). kUnsupported names the words of a
  // schema that would not be enforced.
  [[nodiscard]] virtual Result<std::shared_ptr<const LogitsProcessor>> compile(
      const ResponseFormat& format, const ConstrainedText& text) const = 0;
};

}  // namespace polystate
