#pragma once

#include <cstdint>

#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

// The normalization forms of Unicode Standard Annex 15.
enum class UnicodeForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Brings a text into a form. Characters that a composition joins, or that a decomposition splits,
// are aligned with all, or each with the one, that they come from; marks that change places are
// aligned in their new order, as the `tokenizers` library does it.
void apply_unicode_form(UnicodeForm form, AlignedText& text);

}  // namespace polystate::tokenizer
