#pragma once

#include <string>

namespace polystate::tokenizer {

// A regular expression, for RegexSyntax::kFancyRegex, that matches runs of one script
// (UnicodeScripts). Spaces and characters of no script belong to the run before them; kanji, kana
// and the prolonged sound mark are one script.
std::string unicode_script_pattern();

}  // namespace polystate::tokenizer
