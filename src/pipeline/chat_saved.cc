// How a Chat is saved: what it is, as a JSON document.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "core/json.h"
#include "core/json_cursor.h"
#include "pipeline/chat_file.h"
#include "pipeline/chat_messages.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"

namespace polystate {
namespace {

TemplateValue text_value(std::string_view text) { return TemplateValue::string(text); }

TemplateValue number_value(std::size_t number) {
  return TemplateValue::integer(static_cast<std::int64_t>(number));
}

// JSON has no integers of 64 bits without a sign.
TemplateValue wide_value(std::uint64_t number) { return text_value(std::to_string(number)); }

Result<TemplateValue> ids_value(const std::vector<TokenId>& ids) {
  std::vector<TemplateValue> values;
  values.reserve(ids.size());
  for (const TokenId id : ids) values.push_back(TemplateValue::integer(id));
  return TemplateValue::list(values);
}

std::vector<TokenId> ids_of(const JsonCursor& json) {
  std::vector<TokenId> ids;
  for (const JsonCursor& id : json.elements()) ids.push_back(id.id());
  return ids;
}

std::uint64_t wide_of(const JsonCursor& json) {
  const std::string digits = json.string();
  const char* const end = digits.data() + digits.size();
  std::uint64_t number = 0;
  const auto [read, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || read != end) json.fail_as_not("the digits of an integer of 64 bits");
  return number;
}

}  // namespace

Status Chat::save(const std::filesystem::path& path) const {
  const Result<TemplateValue> messages = TemplateValue::list(this->messages());
  if (!messages) return messages.error();
  const Result<std::string> text = messages->to_json();
  if (!text) return text.error();
  if (const auto again = TemplateValue::parse_json(*text); !again) {
    return Error{ErrorCode::kContract,
                 "the messages cannot be saved as JSON: " + again.error().message};
  }
  std::vector<TemplateValue> answers;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].text.empty()) continue;
    const Result<TemplateValue> ids = ids_value(messages_[i].ids);
    if (!ids) return ids.error();
    const Result<TemplateValue> answer =
        TemplateValue::dict({{text_value("message"), number_value(i)},
                             {text_value("ids"), *ids},
                             {text_value("text"), text_value(messages_[i].text)}});
    if (!answer) return answer.error();
    answers.push_back(*answer);
  }
  const Result<TemplateValue> all_answers = TemplateValue::list(answers);
  if (!all_answers) return all_answers.error();
  const Result<TemplateValue> tokens = ids_value(tokens_);
  if (!tokens) return tokens.error();
  const Result<TemplateValue> document =
      TemplateValue::dict({{text_value("messages"), text_value(*text)},
                           {text_value("answers"), *all_answers},
                           {text_value("tokens"), *tokens},
                           {text_value("messages_left_out"), number_value(left_out_)},
                           {text_value("seed"), wide_value(options_.seed.value_or(0))},
                           {text_value("drawn"), wide_value(drawn_)}});
  if (!document) return document.error();
  Result<std::string> json = document->to_json();
  if (!json) return json.error();
  Result<std::vector<std::byte>> read = pipeline_->runner().save_kept(kept_);
  if (!read) return read.error();
  return write_chat_file(path, pipeline_->digest(), {std::move(*json), std::move(*read)});
}

Result<Chat> Chat::load(Pipeline& pipeline, const std::filesystem::path& path,
                        ChatOptions options) {
  Result<ChatFile> file = read_chat_file(path, pipeline.digest());
  if (!file) return file.error();
  const Result<Json> json = parse_json(file->document);
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, status, "saved conversation");
  const Result<TemplateValue> messages = TemplateValue::parse_json(root["messages"].string());
  if (!status) return status.error();
  if (!messages || !messages->value().is_sequence())
    return Error{ErrorCode::kArtifact, "saved conversation: messages: must be a list"};
  options.seed = wide_of(root["seed"]);
  Result<Chat> chat = create(pipeline, std::move(options));
  if (!chat) return chat;
  std::vector<TemplateValue> values;
  for (const auto& message : messages->value().elements()) values.emplace_back(message);
  if (const Status set = chat->set_messages(values); !set) return set.error();
  for (const JsonCursor& answer : root["answers"].elements()) {
    const std::size_t index = answer["message"].index(values.size(), "messages");
    if (!status) break;
    Message& message = chat->messages_[index];
    message.value = as_answer(message.value);
    message.ids = ids_of(answer["ids"]);
    message.text = answer["text"].string();
  }
  chat->tokens_ = ids_of(root["tokens"]);
  chat->left_out_ = root["messages_left_out"].size();
  chat->drawn_ = wide_of(root["drawn"]);
  if (chat->left_out_ > values.size()) root.fail("more messages are left out than there are");
  if (!status) return status.error();
  if (file->state.empty()) return chat;
  Result<KeptSequence> kept = pipeline.runner().load_kept(file->state, /*yields=*/true);
  if (!kept) return kept.error();
  chat->kept_ = std::move(*kept);
  return chat;
}

}  // namespace polystate
