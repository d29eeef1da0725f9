#pragma once

#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// What filters call an attribute: "address.city", or an index.
class AttributePath {
 public:
  // `attribute` may be none: the value itself.
  AttributePath(Rendering& rendering, const Value& attribute);

  [[nodiscard]] Value of(Rendering& rendering, Value value) const;
  // The same, with `otherwise` for what is undefined on the way, unless that is none.
  [[nodiscard]] Value of(Rendering& rendering, Value value, const Value& otherwise) const;

 private:
  Elements parts_;
};

}  // namespace polystate::chat_template
