#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/core/result.h"
#include "response/template.h"

namespace polystate::response {

// What a part of an answer has.
struct Part {
  std::string_view text;
  const std::vector<std::pair<std::string, std::string>>& captures;  // of its opening
};

// The value of a part, as its field says. kContract: it cannot be read.
Result<chat_template::Value> value_of_part(const Field& field, const Part& part,
                                           chat_template::Origin origin);

}  // namespace polystate::response
