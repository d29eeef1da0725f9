#pragma once

#include <string_view>

// Case folding in which one character equals several, as U+00DF and "ss" (CaseFolding.txt,
// status F, which does not change). Oniguruma matches so without regard to case, PCRE2 does not.
namespace polystate::tokenizer {

// Whether the character's folding has several.
bool folds_to_several(char32_t code_point);

// Whether characters end with the folding of a single other one, whatever their case.
bool ends_with_folding(std::u32string_view characters);

}  // namespace polystate::tokenizer
