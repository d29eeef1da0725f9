#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"

namespace polystate {

namespace response {
struct Template;
}  // namespace response

// How the text of an answer is read as a message: which texts open and close the parts of it
// (thoughts, calls, content), and what is in them. It is transformers' `response_template`, which
// tokenizer_config.json may have. Immutable: any number of threads may use it at once.
class ResponseTemplate {
 public:
  // A JSON document. kContract: transformers refuses it too, or `regex` would refuse one of its
  // expressions; kUnsupported: an expression uses what has no equal here.
  static Result<ResponseTemplate> parse(std::string_view json);

  [[nodiscard]] const response::Template& content() const { return *content_; }

 private:
  explicit ResponseTemplate(std::shared_ptr<const response::Template> content)
      : content_(std::move(content)) {}

  std::shared_ptr<const response::Template> content_;
};

}  // namespace polystate
