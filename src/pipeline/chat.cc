#include "polystate/pipeline/chat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/chat_ends.h"
#include "pipeline/chat_messages.h"
#include "pipeline/chat_prompt.h"
#include "pipeline/chat_stream.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/tokenizer/tokenizer.h"
#include "sampler/random.h"

namespace polystate {
namespace {

constexpr std::string_view kUser = "user";
constexpr std::string_view kAnswerer = "assistant";

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

struct Chat::Prompt {
  ChatPrompt chat;
  std::size_t left_out;  // messages
};

Chat::Chat(Pipeline& pipeline, ChatOptions options)
    : pipeline_(&pipeline), options_(std::move(options)), config_(pipeline.default_config()) {
  if (!options_.seed) options_.seed = std::random_device()();
}

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
  Chat chat(pipeline, std::move(options));
  std::vector<TokenId>& ends = chat.config_.eos_token_id;
  for (const TokenId end : chat_end_tokens(chat.encoder(), chat.input())) {
    if (std::ranges::find(ends, end) == ends.end()) ends.push_back(end);
  }
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
  const Result<Prompt> prompt = next_prompt(config);
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
  const Result<Prompt> prompt = prompt_of(left_out_, Purpose::kCount);
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

Result<Chat::Prompt> Chat::prompt_of(std::size_t left_out, Purpose purpose) const {
  const std::size_t leading = leading_messages();
  std::vector<TemplateValue> seen;
  std::vector<GeneratedAnswer> answers;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (i >= leading && i < leading + left_out) continue;
    seen.push_back(messages_[i].value);
    if (!messages_[i].text.empty()) answers.push_back({messages_[i].ids, messages_[i].text});
  }
  Result<TemplateValue> list = TemplateValue::list(seen);
  if (!list) return list.error();
  ChatInput given = input();
  given.messages = std::move(*list);
  if (purpose == Purpose::kAnswer) {
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
  return Prompt{std::move(*prompt), left_out};
}

Result<Chat::Prompt> Chat::next_prompt(const GenerationConfig& config) const {
  if (messages_.empty())
    return Error{ErrorCode::kContract, "the conversation has no message to answer"};
  Result<Prompt> prompt = prompt_of(left_out_, Purpose::kAnswer);
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
    prompt = prompt_of(*more, Purpose::kAnswer);
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
  if (messages_.empty() || role_of(messages_.back().value) != kAnswerer) return false;
  const auto* const content = messages_.back().value.value().dict().find("content");
  return content != nullptr && content->is_string();
}

Result<ChatAnswer> Chat::generate(const Prompt& prompt, GenerationConfig config,
                                  const AnswerOptions& options) {
  const std::shared_ptr<const Tokenizer>& tokenizer = pipeline_->tokenizer();
  GenerationOptions generation{static_cast<const CallOptions&>(options), nullptr};
  if (const Status taken = take_stop_strings(tokenizer, config, generation.stopping_criteria);
      !taken) {
    return taken.error();
  }
  if (options.response_format) {
    auto processor = pipeline_->constrain(
        *options.response_format, {.ends = config.eos_token_id, .is_whole = !continues_answer()});
    if (!processor) return processor.error();
    generation.processors.push_back(*std::move(processor));
  }
  Result<ChatStream> stream =
      ChatStream::start(*tokenizer, prompt.chat.ids, config.eos_token_id, options.on_text);
  if (!stream) return stream.error();
  generation.config = std::move(config);
  generation.keep = generation.yields = true;
  generation.name_of = [](std::size_t) { return std::string("the conversation"); };
  generation.on_done = nullptr;
  generation.on_token = [&](std::size_t, TokenId token) { return stream->push(token); };
  const GenerationInput input = {.source = {}, .prompt = prompt.chat.ids, .kept = kept_};
  auto results = pipeline_->runner().generate({&input, 1}, generation);
  if (!results) return results.error();
  const Result<ChatStream::Texts> texts = stream->finish();
  if (!texts) return texts.error();

  GeneratedSequence& sequence = results->front().sequences.front();
  ChatAnswer answer;
  static_cast<GenerationUsage&>(answer.usage) = results->front().usage;
  answer.usage.answers_encoded_again = prompt.chat.encoded_again;
  answer.usage.messages_left_out = static_cast<std::int64_t>(prompt.left_out);
  answer.finish_reason = sequence.finish_reason;
  answer.text = texts->answer;
  take_answer(texts->answer, stream->tokens(), texts->generated);
  answer.message = messages_.back().value;
  left_out_ = prompt.left_out;
  kept_ = std::move(sequence.kept);
  tokens_ = std::move(sequence.ids);
  ++drawn_;
  return answer;
}

void Chat::take_answer(std::string_view text, std::span<const TokenId> ids,
                       std::string_view of_ids) {
  if (!continues_answer()) {
    messages_.push_back({make_message(kAnswerer, TemplateValue::answer(text)),
                         {ids.begin(), ids.end()},
                         std::string(of_ids)});
    return;
  }
  Message& last = messages_.back();
  const bool is_generated = !last.text.empty();
  const std::string content = std::string(text_of(last.value, "content")).append(text);
  last.value = with_content(
      last.value, is_generated ? TemplateValue::answer(content) : TemplateValue::string(content));
  if (!is_generated) return;
  last.ids.insert(last.ids.end(), ids.begin(), ids.end());
  last.text += of_ids;
}

}  // namespace polystate
