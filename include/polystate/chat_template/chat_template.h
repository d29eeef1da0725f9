#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {

// What a rendering may take. What exceeds it is kContract.
struct RenderOptions {
  // Of evaluations; a text that is made counts once for each 64 bytes, a list once an element.
  std::size_t max_steps = 20'000'000;
  // Of constructs of the template in one another while it runs, calls of macros among them.
  std::size_t max_depth = 1500;
  // Of each text that is made, the result among them.
  std::size_t max_text_bytes = std::size_t{128} << 20U;
  double max_seconds = 30;
  // The local time that the template's strftime_now shows; empty: the clock's.
  std::function<std::tm()> now;
};

// A part of a text, in bytes, from `begin` up to but not including `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct RenderedText {
  std::string text;  // valid UTF-8
  // The parts that came from variables that are not trusted, ascending.
  std::vector<ByteRange> users;
  // Of these, what came from TemplateValue::answer.
  std::vector<ByteRange> answers;
};

// A chat template in the language of Jinja, as transformers.apply_chat_template renders it:
// jinja2's sandbox with trim_blocks and lstrip_blocks, loop controls, `generation` blocks, and the
// functions that are there for templates. Immutable: any number of threads may render it at once.
//
// Nothing throws but std::bad_alloc.
class ChatTemplate {
 public:
  // kContract: jinja2 refuses it too, or it is too large or too deep; the message has the line.
  static Result<ChatTemplate> parse(std::string_view source);

  // kContract: the template fails, as by raise_exception, or exceeds the options' limits.
  // `variables` is a dictionary.
  [[nodiscard]] Result<RenderedText> render(const TemplateValue& variables,
                                            const RenderOptions& options = {}) const;

  // What it was parsed from.
  [[nodiscard]] const std::string& source() const;
  // Whether the template's own text, or one of its strings, has `text` in it.
  [[nodiscard]] bool writes(std::string_view text) const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace polystate
