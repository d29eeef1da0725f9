#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/regex/pattern.h"

// The pre-tokenizers of a tokenizer.json, those that have several parts by their parts. Their
// classes are hidden in the other files.
namespace polystate::tokenizer {

// Splits at white space, which goes, and around punctuation (BertPreTokenizer).
std::unique_ptr<const PreTokenizer> bert_pre_tokenizer();

// Writes every byte as its character of the byte alphabet (ByteLevel).
std::unique_ptr<const PreTokenizer> byte_alphabet();

// Splits every `length` characters (FixedLength).
std::unique_ptr<const PreTokenizer> fixed_length(std::size_t length);

// Splits before or after runs of a marker. Where no token of a vocabulary lies on both sides of
// such a place, byte pair encoding gives the same tokens for the parts as for the whole.
std::unique_ptr<const PreTokenizer> marker_split(std::string marker, bool after);

// Which pieces get a marker put before them.
enum class PrependScheme : std::uint8_t { kNever, kFirst, kAlways };

// Writes spaces as a marker, puts one before pieces that do not start with it, and splits before
// every marker (Metaspace).
std::unique_ptr<const PreTokenizer> metaspace(std::string marker, PrependScheme scheme, bool split);

// What becomes of the delimiters that a text is split at: "a-b" split at "-".
enum class DelimiterBehavior : std::uint8_t {
  kRemoved,             // "a", "b"
  kIsolated,            // "a", "-", "b"
  kMergedWithPrevious,  // "a-", "b"
  kMergedWithNext,      // "a", "-b"
  kContiguous,          // as kIsolated, but neighbouring delimiters stay together
};

// Splits at the matches of a pattern or, inverted, at what lies between them.
std::unique_ptr<const PreTokenizer> pattern_split(Pattern pattern, DelimiterBehavior behavior,
                                                  bool invert);

// Splits at characters of a kind.
std::unique_ptr<const PreTokenizer> character_split(std::function<bool(char32_t)> is_delimiter,
                                                    DelimiterBehavior behavior);

// Puts a space before every piece that does not start with one (ByteLevel's add_prefix_space).
std::unique_ptr<const PreTokenizer> space_prefix();

// Splits where the script changes (UnicodeScripts). Spaces and characters of no script belong to
// the run before them, and those before the first run are left out; kanji, kana and the prolonged
// sound mark are one script.
std::unique_ptr<const PreTokenizer> unicode_scripts();

}  // namespace polystate::tokenizer
