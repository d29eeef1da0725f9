#include "polystate/pipeline/chat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/chat_ends.h"
#include "pipeline/chat_form.h"
#include "pipeline/chat_messages.h"
#include "pipeline/chat_prompt.h"
#include "pipeline/chat_state.h"
#include "pipeline/chat_tools.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"
#include "response/trial.h"
#include "runner/random_seed.h"
#include "sampler/random.h"

namespace polystate {
namespace {

constexpr std::string_view kUser = "user";

Status check_message(const TemplateValue& message) {
  const chat_template::Value& value = message.value();
  if (value.kind() != chat_template::Value::Kind::kDict) {
    return Error{ErrorCode::kContract,
                 "a message is a dictionary with 'role' and 'content', not a " + value.type_name()};
  }
  const chat_template::Value* const role = value.dict().find("role");
  if (role != nullptr && role->is_string()) return {};
  return Error{
      ErrorCode::kContract,
      std::string("a message's 'role' is a text, such as 'user'; ") +
          (role == nullptr ? "this one has none" : "this one's is a " + role->type_name())};
}

std::string count_of(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Chat::Chat(Pipeline& pipeline, ChatOptions options)
    : pipeline_(&pipeline), options_(std::move(options)), config_(pipeline.default_config()) {}

Result<Chat> Chat::create(Pipeline& pipeline, ChatOptions options) {
  if (!pipeline.continues_texts()) {
    return Error{ErrorCode::kUnsupported,
                 "the model has an encoder: it takes texts, and no conversations"};
  }
  if (pipeline.chat_templates().names().empty() && !options.chat_template) {
    return Error{ErrorCode::kUnsupported,
                 "the model is not for chats: its files have no chat template; give one as "
                 "chat_template, or have it continue texts"};
  }
  if (!options.seed) {
    const Result<std::uint64_t> seed = random_seed();
    if (!seed) return seed.error();
    options.seed = *seed;
  }
  Chat chat(pipeline, std::move(options));
  Result<ChatForm> form = find_chat_form(chat.encoder(), chat.input(), chat.options_.tools);
  if (!form) return form.error();
  const Status chosen = check_tool_choice(chat.options_.tool_choice, form->tools);
  if (!chosen) return chosen.error();
  std::vector<TokenId>& ends = chat.config_.eos_token_id;
  for (const TokenId end : chat_end_tokens(chat.encoder(), chat.input())) {
    // A part of an answer may end with it, and another one follow.
    const bool is_marker =
        !form->is_of_model && std::ranges::find(form->markers, end) != form->markers.end();
    if (!is_marker && std::ranges::find(ends, end) == ends.end()) ends.push_back(end);
  }
  chat.form_ = std::make_shared<const ChatForm>(*std::move(form));
  return chat;
}

ChatEncoder Chat::encoder() const {
  return {*pipeline_->tokenizer(), pipeline_->chat_templates(), options_.sanitize_control_tokens};
}

ChatInput Chat::input() const {
  ChatInput input;
  input.documents = options_.documents;
  input.chat_template = options_.chat_template;
  input.variables = options_.variables;
  return input;
}

Result<ChatAnswer> Chat::ask(std::string_view text, const AnswerOptions& options) {
  messages_.push_back(Message{make_message(kUser, TemplateValue::string(text))});
  Result<ChatAnswer> answered = answer(options);
  if (!answered) messages_.pop_back();
  return answered;
}

Result<ChatAnswer> Chat::answer(const AnswerOptions& options) {
  GenerationConfig config = options.config.value_or(config_);
  const std::string& choice = options.tool_choice.value_or(options_.tool_choice);
  if (const Status chosen = check_tool_choice(choice, form_->tools); !chosen) return chosen.error();
  const Result<Prompt> prompt = next_prompt(config, choice != "none");
  if (!prompt) return prompt.error();
  if (config.context == ContextPolicy::kSlide) {
    config.context = ContextPolicy::kError;
    const std::int64_t room = max_tokens() - std::ssize(prompt->chat.ids);
    if (config.max_new_tokens) config.max_new_tokens = std::min(*config.max_new_tokens, room);
  }
  if (!config.seed) config.seed = sampler::mix(options_.seed.value_or(0) + drawn_);
  return generate(*prompt, std::move(config), options);
}

Result<ChatAnswer> Chat::retry(const AnswerOptions& options) {
  const std::vector<Message> before = messages_;
  const std::optional<std::size_t> last = last_of_user();
  if (!last) {
    return Error{ErrorCode::kContract, "the conversation has no message of a user to answer again"};
  }
  messages_.resize(*last + 1);
  Result<ChatAnswer> answered = answer(options);
  if (!answered) messages_ = before;
  return answered;
}

std::vector<TemplateValue> Chat::messages() const {
  std::vector<TemplateValue> values;
  values.reserve(messages_.size());
  for (const Message& message : messages_) values.push_back(message.value);
  return values;
}

Status Chat::add_message(TemplateValue message) {
  if (const Status valid = check_message(message); !valid) return valid;
  messages_.push_back(Message{std::move(message)});
  return {};
}

std::size_t Chat::open_calls() const {
  const auto is_result = [](const Message& message) { return role_of(message.value) == "tool"; };
  const auto called = std::find_if_not(messages_.rbegin(), messages_.rend(), is_result);
  if (called == messages_.rend() || !has_calls(called->value)) return 0;
  const std::size_t results = static_cast<std::size_t>(called - messages_.rbegin());
  return count_calls(called->value) - std::min(results, count_calls(called->value));
}

Result<std::size_t> Chat::add_result(std::string_view result) {
  const std::size_t open = open_calls();
  if (open == 0)
    return Error{ErrorCode::kContract, "the last answer has no call that waits for a result"};
  const auto called = std::find_if(messages_.rbegin(), messages_.rend(),
                                   [](const Message& message) { return has_calls(message.value); });
  const std::size_t call = count_calls(called->value) - open;
  messages_.push_back(Message{result_message(called->value, call, result)});
  return open - 1;
}

Status Chat::set_messages(const std::vector<TemplateValue>& messages) {
  for (const TemplateValue& message : messages) {
    if (const Status valid = check_message(message); !valid) return valid;
  }
  std::vector<Message> changed;
  changed.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool is_same = i < messages_.size() && messages_[i].value == messages[i];
    changed.push_back(is_same ? messages_[i] : Message{messages[i]});
  }
  messages_ = std::move(changed);
  left_out_ = 0;
  return {};
}

void Chat::set_system(std::string_view text) {
  messages_.erase(messages_.begin(),
                  messages_.begin() + static_cast<std::ptrdiff_t>(leading_messages()));
  if (!text.empty())
    messages_.insert(messages_.begin(),
                     Message{make_message("system", TemplateValue::string(text))});
}

bool Chat::undo() {
  const std::optional<std::size_t> last = last_of_user();
  if (!last) return false;
  messages_.resize(*last);
  left_out_ = 0;
  return true;
}

void Chat::reset() {
  messages_.resize(leading_messages());
  left_out_ = 0;
}

Result<std::int64_t> Chat::count_tokens() const {
  if (messages_.empty()) return std::int64_t{0};
  const bool shows_tools = options_.tool_choice != "none";
  const Result<Prompt> prompt = prompt_of({left_out_, shows_tools, Purpose::kCount});
  if (!prompt) return prompt.error();
  return std::ssize(prompt->chat.ids);
}

std::size_t Chat::leading_messages() const {
  const auto end = std::ranges::find_if(messages_, [](const Message& message) {
    const std::string_view role = role_of(message.value);
    return role != "system" && role != "developer";
  });
  return static_cast<std::size_t>(end - messages_.begin());
}

std::optional<std::size_t> Chat::last_of_user() const {
  for (std::size_t i = messages_.size(); i > 0; --i) {
    if (role_of(messages_[i - 1].value) == kUser) return i - 1;
  }
  return std::nullopt;
}

Result<Chat::Prompt> Chat::prompt_of(const PromptOptions& options) const {
  const std::size_t leading = leading_messages();
  std::vector<TemplateValue> seen;
  std::vector<GeneratedAnswer> answers;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (i >= leading && i < leading + options.left_out) continue;
    seen.push_back(form_->forms.calls == nullptr
                       ? messages_[i].value
                       : with_arguments(messages_[i].value, form_->forms.arguments_are_text));
    if (!messages_[i].text.empty()) answers.push_back({messages_[i].ids, messages_[i].text});
  }
  Result<TemplateValue> list = TemplateValue::list(seen);
  if (!list) return list.error();
  ChatInput given = input();
  given.messages = std::move(*list);
  if (options.shows_tools) given.tools = form_->tools;
  if (options.purpose == Purpose::kAnswer) {
    if (continues_answer()) {
      given.continue_final_message = "content";
    } else {
      given.add_generation_prompt = true;
    }
  }
  const ChatEncoder encoding = encoder();
  const Result<RenderedChat> rendered = encoding.templates.render(given);
  if (!rendered) return rendered.error();
  Result<ChatPrompt> prompt = make_chat_prompt(encoding, *rendered, answers);
  if (!prompt) return prompt.error();
  return Prompt{std::move(*prompt), options.left_out, options.shows_tools,
                begun_answer(rendered->text)};
}

std::string Chat::begun_answer(const RenderedText& prompt) const {
  if (continues_answer()) return {};
  if (form_->is_of_model) return prompt.text;
  if (form_->forms.thoughts == nullptr) return {};
  return response::begun_thoughts(*form_->forms.thoughts, prompt);
}

Result<Chat::Prompt> Chat::next_prompt(const GenerationConfig& config, bool shows_tools) const {
  if (messages_.empty())
    return Error{ErrorCode::kContract, "the conversation has no message to answer"};
  if (open_calls() > 0) {
    return Error{ErrorCode::kContract,
                 "the last answer calls tools: add their results first, messages with the role "
                 "'tool'"};
  }
  Result<Prompt> prompt = prompt_of({left_out_, shows_tools});
  if (!prompt) return prompt;
  const bool slides = config.context == ContextPolicy::kSlide;
  const std::int64_t room = max_tokens();
  const std::int64_t quarter = std::max<std::int64_t>(room / 4, 1);
  const std::int64_t wanted =
      slides ? std::clamp<std::int64_t>(config.max_new_tokens.value_or(quarter), 1, quarter) : 1;
  if (std::ssize(prompt->chat.ids) + wanted <= room) return prompt;
  while (slides && std::ssize(prompt->chat.ids) > room / 2) {
    const std::optional<std::size_t> more = leave_out_more(prompt->left_out);
    if (!more) break;
    prompt = prompt_of({*more, shows_tools});
    if (!prompt) return prompt;
  }
  const std::int64_t tokens = std::ssize(prompt->chat.ids);
  if (tokens < room) return prompt;
  return Error{
      ErrorCode::kContract,
      (slides ? "the last turn has " : "the conversation has ") + count_of(tokens, "token") +
          "; the model has room for " + std::to_string(room) +
          ", an answer of 1 included: " + count_of(tokens + 1 - room, "token") + " too many; " +
          (slides ? "shorten it" : "take back turns, or let the oldest go with context=\"slide\"")};
}

std::optional<std::size_t> Chat::leave_out_more(std::size_t left_out) const {
  const std::size_t leading = leading_messages();
  for (std::size_t i = leading + left_out + 1; i < messages_.size(); ++i) {
    if (role_of(messages_[i].value) == kUser) return i - leading;
  }
  return std::nullopt;
}

bool Chat::continues_answer() const {
  if (messages_.empty() || role_of(messages_.back().value) != kAnswererRole) return false;
  const auto* const content = messages_.back().value.value().dict().find("content");
  return content != nullptr && content->is_string();
}

}  // namespace polystate
