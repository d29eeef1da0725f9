#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_template.h"

namespace polystate {

// What is read of an answer: a field of the message opens, has more text, or closes.
struct ResponseEvent {
  enum class Kind : std::uint8_t { kOpen, kText, kClose };

  Kind kind = Kind::kText;
  std::string field;
  std::string text = {};  // of kText
  bool is_raw = false;    // of kText: the value is not this text, but what is read from all of it
  TemplateValue value = {};  // of kClose
};

struct ResponseOptions {
  // JSON schemas of the tools that the model may call, or none: arguments that are text become what
  // their schemas say.
  TemplateValue tools = {};
  // A part that cannot be read, and a call that has no name or no arguments, is content as it was
  // written; else it is an error.
  bool keeps_malformed = false;
  // The message's texts are of TemplateValue::answer.
  bool is_answer = false;
};

// Reads an answer piece by piece, as transformers' ResponseParser does: the events and the message
// are the same, however the text is cut. It takes time and memory in proportion to the text, but
// for what the template's regular expressions take, which have limits.
class ResponseParser {
 public:
  // `prefix` is the prompt, since templates may write the beginning of an answer. kContract as
  // feed.
  static Result<ResponseParser> start(ResponseTemplate response_template, std::string_view prefix,
                                      ResponseOptions options = {});
  ~ResponseParser();
  ResponseParser(ResponseParser&& other) noexcept;
  ResponseParser& operator=(ResponseParser&& other) noexcept;

  // What the prompt had of the answer.
  [[nodiscard]] const std::vector<ResponseEvent>& initial_events() const;

  // Reads more of the answer. Malformed UTF-8 is read as U+FFFD. kContract: a part cannot be read,
  // an expression takes too long, or the answer is over; the parser is then of no use.
  Result<std::vector<ResponseEvent>> feed(std::string_view text);

  // The answer is over: the message, a dictionary, and the last events. kContract as feed, and
  // where a field is missing that the template asks for.
  struct Message {
    TemplateValue message;
    std::vector<ResponseEvent> events;
  };
  Result<Message> finish();

 private:
  class Reader;
  explicit ResponseParser(std::unique_ptr<Reader> reader);

  std::unique_ptr<Reader> reader_;
};

// All at once: the message of an answer.
Result<TemplateValue> parse_response(const ResponseTemplate& response_template,
                                     std::string_view answer, std::string_view prefix,
                                     const ResponseOptions& options = {});

}  // namespace polystate
