#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzzer.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "response/forms.h"
#include "take_part.h"

namespace {

using polystate::ErrorCode;
using polystate::ResponseParser;
using polystate::ResponseTemplate;
using polystate::Result;
using polystate::TemplateValue;

// A response_template, or the name of a form of calls.
Result<ResponseTemplate> template_of(const std::string& part) {
  const auto forms = polystate::response::call_forms();
  const auto form = std::ranges::find(forms, part, &polystate::response::CallForm::name);
  if (form == forms.end()) return ResponseTemplate::parse(part);
  return polystate::response::template_of(polystate::response::thought_forms().data(), &*form);
}

// The message of an answer that comes in pieces.
Result<TemplateValue> read(const ResponseTemplate& reader, std::string_view prefix,
                           std::string_view answer, std::size_t size,
                           const polystate::ResponseOptions& options) {
  auto parser = ResponseParser::start(reader, prefix, options);
  if (!parser) return parser.error();
  for (std::size_t begin = 0; begin < answer.size(); begin += size) {
    const auto events = parser->feed(answer.substr(begin, size));
    if (!events) return events.error();
  }
  auto message = parser->finish();
  if (!message) return message.error();
  return message->message;
}

// Whether an answer is read, or refused with the error that is promised.
bool keeps_its_promises(const Result<TemplateValue>& message) {
  return message || message.error().code == ErrorCode::kContract;
}

}  // namespace

// A response_template or a form's name, the prompt, and an answer: the message is the same however
// the answer is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto reader = template_of(polystate::take_part(rest));
  if (!reader) {
    const ErrorCode code = reader.error().code;
    if (code != ErrorCode::kContract && code != ErrorCode::kUnsupported) std::abort();
    return 0;
  }
  const std::string prefix = polystate::take_part(rest);
  const std::string answer = polystate::take_part(rest).substr(0, 4096);
  polystate::ResponseOptions options;
  for (const bool keeps_malformed : {false, true}) {
    options.keeps_malformed = keeps_malformed;
    const auto whole = read(*reader, prefix, answer, answer.size() + 1, options);
    const auto pieces = read(*reader, prefix, answer, size % 3 + 1, options);
    if (!keeps_its_promises(whole) || !keeps_its_promises(pieces)) std::abort();
    if (!whole || !pieces) continue;  // the time that a long answer may take is over
    const auto json = whole->to_json();
    const auto other = pieces->to_json();
    if (json.has_value() != other.has_value() || (json && *json != *other)) std::abort();
  }
  return 0;
}
