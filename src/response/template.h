#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/value.h"
#include "core/json.h"
#include "polystate/core/result.h"
#include "response/anchor.h"
#include "response/content_parser.h"

namespace polystate::response {

// A part of an answer, which becomes a field of the message.
struct Field {
  std::string name;
  std::optional<Anchor> open;   // none: what is in no other part
  std::optional<Anchor> close;  // none: it goes on up to the end, or where another part opens
  ContentParser content;
  bool repeats = false;             // the values of several parts are a list
  std::optional<std::string> join;  // or a text, with this between them
  bool is_optional = true;
  std::optional<chat_template::Value> transform;
  bool transform_each = false;  // of each element of a list
};

// What a ResponseTemplate has.
struct Template {
  chat_template::Dict defaults;
  std::vector<Field> fields;
  std::optional<std::size_t> implicit;  // the field that has no opening
  Anchor start_anchor;                  // behind the last of these in a prompt an answer begins
  // Texts of the template, in which its markers occur: for looking whether a token is one of them.
  std::vector<std::string> texts;
};

Result<Template> read_template(const Json& json);

}  // namespace polystate::response
