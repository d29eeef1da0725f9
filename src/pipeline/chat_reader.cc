#include "pipeline/chat_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/chat_messages.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/chat.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"

namespace polystate {
namespace {

using chat_template::Value;

constexpr std::string_view kCallField = "tool_calls";

// What a field of a message is; nothing where it is none of these.
std::optional<ChatPiece::Kind> kind_of(std::string_view field) {
  if (field == "content") return ChatPiece::Kind::kContent;
  if (field == kCallField) return ChatPiece::Kind::kCall;
  for (const std::string_view thought : {"reasoning_content", "thinking", "reasoning"}) {
    if (field == thought) return ChatPiece::Kind::kThinking;
  }
  return std::nullopt;
}

ChatText read_message(const TemplateValue& message) {
  ChatText text;
  text.content = text_of(message, "content");
  for (const auto& [name, value] : message.value().dict().entries()) {
    const auto kind = kind_of(name.bytes());
    if (kind == ChatPiece::Kind::kThinking && value.is_string()) text.thinking = value.bytes();
    if (kind != ChatPiece::Kind::kCall) continue;
    text.tool_calls = value.kind() == Value::Kind::kList ? TemplateValue(value)
                                                         : TemplateValue(Value::list({value}));
  }
  return text;
}

}  // namespace

Result<ChatReader> ChatReader::start(const std::optional<ResponseTemplate>& reader,
                                     std::string_view prefix, const TemplateValue& tools,
                                     OnPiece on_piece) {
  ChatReader started(std::move(on_piece));
  if (!reader) return started;
  Result<ResponseParser> parser = ResponseParser::start(
      *reader, prefix, {.tools = tools, .keeps_malformed = true, .is_answer = true});
  if (!parser) return parser.error();
  started.parser_ = *std::move(parser);
  return started;
}

void ChatReader::tell(ChatPiece::Kind kind, std::string_view text) {
  if (text.empty() || !wants_more_ || on_piece_ == nullptr) return;
  wants_more_ = on_piece_({kind, text});
}

void ChatReader::tell(const std::vector<ResponseEvent>& events) {
  for (const ResponseEvent& event : events) {
    const auto kind = kind_of(event.field);
    if (kind && event.kind == ResponseEvent::Kind::kText) tell(*kind, event.text);
  }
}

bool ChatReader::push(std::string_view text) {
  whole_ += text;
  if (!parser_) {
    tell(ChatPiece::Kind::kContent, text);
    return wants_more_;
  }
  const Result<std::vector<ResponseEvent>> events = parser_->feed(text);
  if (events) {
    tell(*events);
  } else {
    parser_.reset();
    tell(ChatPiece::Kind::kContent, text);
  }
  return wants_more_;
}

ChatText ChatReader::finish() {
  if (!parser_) return {.content = whole_};
  const Result<ResponseParser::Message> message = parser_->finish();
  if (!message) return {.content = whole_};
  tell(message->events);
  return read_message(message->message);
}

}  // namespace polystate
