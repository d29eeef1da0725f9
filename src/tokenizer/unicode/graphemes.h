#pragma once

#include <cstddef>
#include <string_view>

#include "tokenizer/unicode/tables.h"

namespace polystate::tokenizer {

// Finds the extended grapheme clusters of a text (Unicode Standard Annex 29, rules GB3 to GB999).
// It keeps a view of the text, which is valid UTF-8.
class Graphemes {
 public:
  explicit Graphemes(std::string_view text) : text_(text) {}

  // Where the cluster ends that starts at `begin`, which is not the text's end.
  std::size_t end(std::size_t begin);

 private:
  GraphemeClass class_of(char32_t code_point);

  std::string_view text_;
  // The characters around the last one that was looked up, which are of its class.
  GraphemeRange around_ = {U' ', U'~', GraphemeClass::kOther};
};

}  // namespace polystate::tokenizer
