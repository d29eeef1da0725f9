#pragma once

#include <array>
#include <cstdint>
#include <span>

// Tables of the versions of Unicode that the operations of the `tokenizers` library have, in the
// order of their code points (tools/make_unicode_tables.py). Python's are of version 0.23.
namespace polystate::tokenizer {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

struct ScriptRange {
  char32_t first;
  char32_t last;
  std::uint8_t script;  // any number but 0
};

// Values of Grapheme_Cluster_Break, those that the rules of clusters tell apart with
// Indic_Conjunct_Break and Extended_Pictographic. CR and LF are controls.
enum class GraphemeClass : std::uint8_t {
  kOther,
  kControl,
  kExtend,          // of no conjunct
  kConjunctExtend,  // Extend, and InCB=Extend
  kConjunctLinker,  // Extend, and InCB=Linker
  kJoiner,          // U+200D
  kSpacingMark,
  kPrepend,
  kHangulL,
  kHangulV,
  kHangulT,
  kHangulLv,
  kHangulLvt,
  kConjunctConsonant,  // InCB=Consonant
  kPictographic,
  kRegionalIndicator,
};

struct GraphemeRange {
  char32_t first;
  char32_t last;
  GraphemeClass kind;
};

struct CodePointPair {
  char32_t code_point;
  char32_t other;
};

// What a character is in case folding, in which one may become several: up to three, and zeros.
struct CaseFolding {
  char32_t code_point;
  std::array<char32_t, 3> folded;
};

struct CombiningClass {
  char32_t code_point;
  std::uint8_t value;
};

// A full decomposition: `size` elements of decomposition_parts(), from `begin` on.
struct Decomposition {
  char32_t code_point;
  std::uint16_t begin;
  std::uint16_t size;
};

struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};

std::span<const CodePointRange> numeric_ranges();       // of Digits
std::span<const CodePointRange> punctuation_ranges();   // of Punctuation and BertPreTokenizer
std::span<const CodePointRange> mark_ranges();          // of StripAccents
std::span<const CodePointRange> bert_mark_ranges();     // of BertNormalizer
std::span<const CodePointRange> bert_control_ranges();  // likewise
std::span<const ScriptRange> script_ranges();           // of UnicodeScripts
// Of Precompiled; without what is computed: syllables of Hangul, and regional indicators.
std::span<const GraphemeRange> grapheme_ranges();
std::span<const CodePointPair> lower_cases();  // but that of U+0130
// Foldings of several characters, and of one that is in such a folding. Of regular expressions.
std::span<const CaseFolding> case_foldings();
// Of the normalization forms; without Hangul syllables, which are computed.
std::span<const CombiningClass> combining_classes();
std::span<const Decomposition> canonical_decompositions();
std::span<const Decomposition> compatible_decompositions();
std::span<const char32_t> decomposition_parts();
std::span<const Composition> compositions();

}  // namespace polystate::tokenizer
