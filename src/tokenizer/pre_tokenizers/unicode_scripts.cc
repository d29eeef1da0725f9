#include "tokenizer/pre_tokenizers/unicode_scripts.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace polystate::tokenizer {
namespace {

// The scripts of Unicode 9 that UnicodeScripts tells apart, besides Common and the three that
// Japanese is written with.
// clang-format off
constexpr std::array<std::string_view, 133> kScripts = {
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese",
    "Bamum", "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille",
    "Buginese", "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma",
    "Cham", "Cherokee", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari",
    "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Ethiopic", "Georgian", "Glagolitic",
    "Gothic", "Grantha", "Greek", "Gujarati", "Gurmukhi", "Hangul", "Hanunoo", "Hatran",
    "Hebrew", "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi",
    "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Kayah_Li", "Kharoshthi",
    "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B",
    "Lisu", "Lycian", "Lydian", "Mahajani", "Malayalam", "Mandaic", "Manichaean", "Marchen",
    "Meetei_Mayek", "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi",
    "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean", "New_Tai_Lue", "Newa", "Nko",
    "Ogham", "Ol_Chiki", "Old_Hungarian", "Old_Italic", "Old_North_Arabian", "Old_Permic",
    "Old_Persian", "Old_South_Arabian", "Old_Turkic", "Oriya", "Osage", "Osmanya",
    "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician", "Psalter_Pahlavi",
    "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham",
    "SignWriting", "Sinhala", "Sora_Sompeng", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog",
    "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangut", "Telugu",
    "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Ugaritic", "Vai", "Warang_Citi", "Yi"};
// clang-format on

}  // namespace

std::string unicode_script_pattern() {
  std::vector<std::string> sets = {R"([\p{Latin}])", R"([^\P{Common} \x{30FC}])",
                                   R"([\p{Han}\p{Hiragana}\p{Katakana}\x{30FC}])"};
  for (const std::string_view script : kScripts) {
    if (script != "Latin") sets.push_back(std::string(R"([\p{)").append(script).append("}]"));
  }
  std::string pattern;
  for (const std::string& set : sets) {
    if (!pattern.empty()) pattern += '|';
    pattern.append(set).append("(?:").append(set).append(R"(|[ \p{Unknown}])*)");
  }
  return pattern;
}

}  // namespace polystate::tokenizer
