#pragma once

#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/pattern_reader.h"

namespace polystate::tokenizer {

struct CharacterClass {
  CharacterSet set;
  bool complement = false;
};

// Reads [...], from after the opening bracket to the closing one. Errors are the reader's.
// `ignores_case`: whether the class will be matched without regard to case.
CharacterClass read_character_class(PatternReader& reader, bool ignores_case);

}  // namespace polystate::tokenizer
