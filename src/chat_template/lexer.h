#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/value.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {

// A piece of a template: text, or a part of what stands between "{%" and "%}" or "{{" and "}}".
struct Token {
  enum class Kind : std::uint8_t {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kConstant,  // a number
    kString,
    kOperator,
    kEnd
  };

  Kind kind;
  std::uint32_t line;
  std::string text;  // of data, names, strings and operators
  Value number;
};

// The tokens of a template, kEnd the last: with the white space gone that "-" and the settings of
// transformers (trim_blocks, lstrip_blocks) remove. kContract where jinja2 refuses it.
Result<std::vector<Token>> tokens_of(std::string_view source);

// What is wrong with a template at a line.
Error syntax_error(std::uint32_t line, std::string_view message);

}  // namespace polystate::chat_template
