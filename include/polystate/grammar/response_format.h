#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// What a generated text has to be.
struct ResponseFormat {
  enum class Kind : std::uint8_t {
    kJsonObject,     // any JSON object
    kJsonSchema,     // JSON that a schema (draft 2020-12) finds valid, without spare white space
    kRegex,          // all of the text matches a regular expression
    kChoice,         // one of some texts
    kGbnf,           // a grammar as llama.cpp writes it, whose first rule is `root`
    kLark,           // a grammar in Lark's language, whose first rule is `start`
    kStructuralTag,  // free text with parts that are constrained, as xgrammar describes it
  };

  Kind kind = Kind::kJsonObject;
  std::string text = {};  // the schema, expression, grammar or tag
  std::vector<std::string> choices = {};

  // From JSON, as OpenAI's `response_format` and what others have added to it:
  //
  //   {"type": "json_object"}
  //   {"type": "json_schema", "json_schema": {"schema": {...}}}, or "schema" at once
  //   {"type": "regex", "pattern": "..."}
  //   {"type": "choice", "choices": ["...", ...]}
  //   {"type": "grammar", "grammar": "...", "syntax": "gbnf"}, or "lark"
  //   {"type": "structural_tag", "format": {...}}
  //
  // kContract says what is wrong, and where.
  static Result<ResponseFormat> parse(std::string_view json);
};

}  // namespace polystate
