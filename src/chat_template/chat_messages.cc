#include "chat_template/chat_messages.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/python_text.h"
#include "chat_template/string_functions.h"
#include "chat_template/string_search.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {
namespace {

constexpr std::string_view kTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kTagText = "CONTINUE_FINAL_MESSAGE_TAG";

// The names under which messages have the text of thoughts; templates read the first.
constexpr auto kThoughtFields =
    std::to_array<std::string_view>({"reasoning_content", "thinking", "reasoning"});

Error refused(std::string message) { return {ErrorCode::kContract, std::move(message)}; }

// The role of a message, which is trusted where it is one that is known.
Value trusted_role(const Value& role) {
  const auto& roles = ChatTemplates::trusted_roles();
  const bool is_known = role.is_string() && std::ranges::find(roles, role.bytes()) != roles.end();
  return is_known ? Value::string(role.bytes(), Origin::kTemplate) : role;
}

const Value* thought_of(const Dict& message) {
  for (const std::string_view field : kThoughtFields) {
    const Value* const value = message.find(field);
    if (value != nullptr && !value->is_none()) return value;
  }
  return nullptr;
}

// A message without what is none, its thoughts under all names, in the order that transformers
// gives them.
Dict prepared_message(const Dict& given) {
  Dict message;
  const Value* const thought = thought_of(given);
  if (thought != nullptr) message.set(Value::string("thinking"), *thought);
  for (const auto& [key, value] : given.entries()) {
    if (value.is_none()) continue;
    const bool is_role = key.is_string() && key.bytes() == "role";
    message.set(key, is_role ? trusted_role(value) : value);
  }
  if (thought != nullptr) message.set(Value::string("reasoning_content"), *thought);
  return message;
}

Value with_tag(const Value& text) {
  TextBuilder tagged;
  tagged.append(text.text());
  tagged.append(kTag, Origin::kTemplate);
  return Value::string(tagged.take());
}

// The parts of a message's content with a tag behind the last text.
Result<PreparedMessages> tagged_parts(const Value& content) {
  Elements parts = content.elements();
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->kind() != Value::Kind::kDict) continue;
    const Value* const text = part->dict().find("text");
    if (text == nullptr) continue;
    if (!text->is_string()) return refused("the text of the final message is no str");
    PreparedMessages prepared;
    prepared.continued = text->bytes();
    Dict tagged = part->dict();
    tagged.set(Value::string("text"), with_tag(*text));
    *part = Value::dict(std::move(tagged));
    prepared.messages = Value::list(std::move(parts));
    return prepared;
  }
  return refused(
      "continue_final_message is set but we could not find any text to continue in the final "
      "message!");
}

// The names of the last message's field; of thoughts all that have the same.
std::vector<std::string> tagged_fields(const Dict& message, std::string_view field) {
  const bool is_thought = std::ranges::find(kThoughtFields, field) != kThoughtFields.end();
  if (!is_thought) return {std::string(field)};
  const Value& thought = *message.find(field);
  std::vector<std::string> fields;
  for (const std::string_view other : kThoughtFields) {
    const Value* const value = message.find(other);
    if (value != nullptr && equal(*value, thought)) fields.emplace_back(other);
  }
  return fields;
}

Result<PreparedMessages> tagged(Elements messages, std::string_view field,
                                std::string_view source) {
  Dict message = messages.back().dict();
  const Value* const given = message.find(field);
  if (given == nullptr || given->is_none()) {
    return refused("continue_final_message is set but the final message has no " + quoted(field) +
                   " to continue!");
  }
  const std::vector<std::string> fields = tagged_fields(message, field);
  const bool is_read = std::ranges::any_of(
      fields, [&](const std::string& name) { return source.find(name) != std::string_view::npos; });
  if (!is_read) {
    return refused("continue_final_message is set to " + quoted(field) +
                   " but this is not an accepted field in the chat_template");
  }
  PreparedMessages prepared;
  if (given->is_sequence()) {
    Result<PreparedMessages> parts = tagged_parts(*given);
    if (!parts) return parts;
    prepared.continued = parts->continued;
    message.set(Value::string(field), parts->messages);
  } else if (given->is_string()) {
    prepared.continued = given->bytes();
    const Value with = with_tag(*given);
    for (const std::string& name : fields) message.set(Value::string(name), with);
  } else {
    return refused("the " + quoted(field) + " of the final message is no str");
  }
  messages.back() = Value::dict(std::move(message));
  prepared.messages = Value::list(std::move(messages));
  return prepared;
}

}  // namespace

Result<PreparedMessages> prepared(const Value& messages, std::string_view continued_field,
                                  std::string_view source) {
  if (!messages.is_sequence())
    return refused("a conversation is a list of messages, not a " + messages.type_name());
  if (messages.elements().empty()) {
    return refused(
        "Cannot apply chat template to an empty conversation. Provide at least one message.");
  }
  Elements all;
  for (const Value& message : messages.elements()) {
    if (message.kind() != Value::Kind::kDict)
      return refused("a message is a dictionary, not a " + message.type_name());
    all.push_back(Value::dict(prepared_message(message.dict())));
  }
  if (!continued_field.empty()) return tagged(std::move(all), continued_field, source);
  return PreparedMessages{Value::list(std::move(all)), {}};
}

Status cut_at_tag(std::string_view continued, RenderedText& rendered) {
  std::string& text = rendered.text;
  const std::size_t tag = text.rfind(kTagText);
  if (tag == std::string::npos || find_text(text, stripped(continued), 0) == std::string::npos) {
    return refused(
        "continue_final_message is set but the final message does not appear in the chat after "
        "applying the chat template! This can happen if the chat template deletes portions of the "
        "final message.");
  }
  const bool keeps_space = std::string_view(text).substr(tag).starts_with(kTag);
  text.resize(tag);
  if (!keeps_space) {
    const Text whole(text, Origin::kTemplate);
    text = strip(whole, std::nullopt, Sides::kRight).bytes();
  }
  for (std::vector<ByteRange>* const ranges : {&rendered.users, &rendered.answers}) {
    std::erase_if(*ranges, [&](const ByteRange& range) { return range.begin >= text.size(); });
    for (ByteRange& range : *ranges) range.end = std::min(range.end, text.size());
  }
  return {};
}

}  // namespace polystate::chat_template
