#pragma once

#include <cstdint>
#include <string_view>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// Whether texts of a format are enforced; others are annotations, as the draft has it.
bool is_enforced_format(const Json& format);

// The texts in which an expression of a word is found. As parse_pattern, texts_with and
// check_repetitions.
Result<TextPattern> searched_texts(std::string_view expression, std::string_view word);

// Reads a count of characters or elements; `otherwise` if the schema does not have the word. An
// upper limit above 10^9 - 1 is read as no limit. kContract: any other value than a whole number
// from 0 to 10^9 - 1.
Result<std::int64_t> count_of(const Json::Object& schema, std::string_view word,
                              std::int64_t otherwise);

// What xgrammar is given of a schema of texts with its `pattern`, `format` and lengths: an
// expression over written texts, or a format that xgrammar knows. kUnsupported: these words are not
// enforced beside one another.
Result<nlohmann::ordered_json> text_schema(const Json::Object& schema, TextForm form);

}  // namespace polystate::grammar
