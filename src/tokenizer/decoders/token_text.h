#pragma once

#include <string>
#include <string_view>

// What several decoders do to the text of a token.
namespace polystate::tokenizer {

// Replaces every occurrence of `from`, which may be empty: then nothing changes.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// Removes what WordPiece puts between words and their punctuation, in English.
void clean_up(std::string& text);

}  // namespace polystate::tokenizer
