#pragma once

#include "chat_template/value.h"
#include "polystate/core/result.h"

namespace polystate::response {

// What transformers calls a transform: a value in which strings such as "{content.name}" stand for
// parts of another one.

// kContract: a string in it has other text beside a placeholder.
Status check_transform(const chat_template::Value& transform);

// The value with the parts of `scope` in place of what stands for them. kContract: `scope` has
// none of that name.
Result<chat_template::Value> transformed(const chat_template::Value& transform,
                                         const chat_template::Dict& scope);

}  // namespace polystate::response
