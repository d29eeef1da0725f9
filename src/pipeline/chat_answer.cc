// How a Chat has an answer generated, and what becomes of it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/call_grammar.h"
#include "pipeline/chat_form.h"  // IWYU pragma: keep (what form_ points to)
#include "pipeline/chat_messages.h"
#include "pipeline/chat_reader.h"
#include "pipeline/chat_state.h"
#include "pipeline/chat_stream.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/tokenizer.h"
#include "response/trial.h"

namespace polystate {
namespace {

ChatReader::OnPiece listener(const AnswerOptions& options) {
  if (options.on_text == nullptr && options.on_piece == nullptr) return nullptr;
  return [&options](const ChatPiece& piece) {
    bool wants_more = true;
    if (options.on_piece != nullptr) wants_more = options.on_piece(piece);
    if (options.on_text != nullptr && piece.kind == ChatPiece::Kind::kContent)
      wants_more = options.on_text(piece.text) && wants_more;
    return wants_more;
  };
}

// Whether the prompt has begun the answer's thoughts. `begun`: as Chat::begun_answer.
bool has_begun_thoughts(const ChatForm& form, const std::string& begun) {
  if (!form.is_of_model || form.forms.thoughts == nullptr) return !begun.empty();
  return !response::begun_thoughts(*form.forms.thoughts, {begun, {}, {}}).empty();
}

}  // namespace

Result<std::string> Chat::constrain(const Prompt& prompt, const GenerationConfig& config,
                                    const AnswerOptions& options,
                                    LogitsProcessors& processors) const {
  const std::string& choice = options.tool_choice.value_or(options_.tool_choice);
  const bool has_call = choice != "auto" && choice != "none";
  const ConstrainedText text{.ends = config.eos_token_id, .is_whole = !continues_answer()};
  if (!has_call && !options.response_format) {
    if (choice == "auto") return constrain_begun_calls(prompt, text, processors);
    return std::string();
  }
  if (has_call && options.response_format) {
    return Error{ErrorCode::kContract,
                 "an answer cannot be a call, as tool_choice asks, and have a response_format"};
  }
  Result<std::shared_ptr<const LogitsProcessor>> processor =
      has_call ? call_processor(prompt, choice, text)
               : pipeline_->constrain(*options.response_format, text);
  if (!processor) return processor.error();
  processors.push_back(*std::move(processor));
  return std::string();
}

Result<std::string> Chat::constrain_begun_calls(const Prompt& prompt, const ConstrainedText& text,
                                                LogitsProcessors& processors) const {
  const bool has_tools = !form_->tools.value().is_none();
  if (!has_tools || form_->forms.calls == nullptr || !why_calls_are_free_.empty())
    return std::string();
  auto processor = call_processor(prompt, "auto", text);
  if (processor) {
    processors.push_back(*std::move(processor));
    return std::string();
  }
  const Error& error = processor.error();
  const bool will_stay =
      error.code == ErrorCode::kContract || error.code == ErrorCode::kUnsupported;
  if (!will_stay) return error;
  return error.message;
}

Result<std::shared_ptr<const LogitsProcessor>> Chat::call_processor(
    const Prompt& prompt, const std::string& choice, const ConstrainedText& text) const {
  if (form_->forms.calls == nullptr) {
    return Error{ErrorCode::kContract,
                 "tool_choice is '" + choice +
                     "', and the chat template writes calls in no form that is known: leave the "
                     "choice to the model with 'auto'"};
  }
  const Result<ResponseFormat> format =
      call_format({.tools = form_->tools,
                   .choice = choice,
                   .form = *form_->forms.calls,
                   .thoughts = form_->forms.thoughts,
                   .has_begun_thoughts = has_begun_thoughts(*form_, prompt.begun_answer)});
  if (!format) return format.error();
  return pipeline_->constrain(*format, text, {form_->markers, form_->unread});
}

Result<ChatAnswer> Chat::generate(const Prompt& prompt, GenerationConfig config,
                                  const AnswerOptions& options) {
  const std::shared_ptr<const Tokenizer>& tokenizer = pipeline_->tokenizer();
  GenerationOptions generation{static_cast<const CallOptions&>(options), nullptr};
  if (const Status taken = take_stop_strings(tokenizer, config, generation.stopping_criteria);
      !taken) {
    return taken.error();
  }
  Result<std::string> why_calls_are_free =
      constrain(prompt, config, options, generation.processors);
  if (!why_calls_are_free) return why_calls_are_free.error();
  Result<ChatReader> reader =
      ChatReader::start(prompt.shows_tools ? form_->reader : form_->reader_without_calls,
                        prompt.begun_answer, form_->tools, listener(options));
  if (!reader) return reader.error();
  Result<ChatStream> stream =
      ChatStream::start(*tokenizer, prompt.chat.ids, {config.eos_token_id, form_->markers},
                        [&](std::string_view piece) { return reader->push(piece); });
  if (!stream) return stream.error();
  generation.config = std::move(config);
  generation.keep = generation.yields = true;
  generation.name_of = [](std::size_t) { return std::string("the conversation"); };
  generation.on_done = nullptr;
  generation.on_token = [&](std::size_t, TokenId token) { return stream->push(token); };
  const GenerationInput input = {.source = {}, .prompt = prompt.chat.ids, .kept = kept_};
  auto results = pipeline_->runner().generate({&input, 1}, generation);
  if (!results) return results.error();
  const Result<std::string> generated = stream->finish();
  if (!generated) return generated.error();
  ChatText text = reader->finish();

  GeneratedSequence& sequence = results->front().sequences.front();
  ChatAnswer answer;
  static_cast<GenerationUsage&>(answer.usage) = results->front().usage;
  answer.usage.answers_encoded_again = prompt.chat.encoded_again;
  answer.usage.messages_left_out = static_cast<std::int64_t>(prompt.left_out);
  answer.finish_reason = sequence.finish_reason;
  if (!why_calls_are_free->empty()) {
    answer.warnings.push_back("tool_choice 'auto': calls are as the model writes them: " +
                              *why_calls_are_free);
    why_calls_are_free_ = *std::move(why_calls_are_free);
  }
  if (form_->forms.calls_need_ids) add_ids(text);
  take_answer(text, stream->tokens(), *generated);
  answer.message = messages_.back().value;
  answer.text = std::move(text.content);
  answer.thinking = std::move(text.thinking);
  answer.tool_calls = std::move(text.tool_calls);
  left_out_ = prompt.left_out;
  kept_ = std::move(sequence.kept);
  tokens_ = std::move(sequence.ids);
  ++drawn_;
  return answer;
}

void Chat::add_ids(ChatText& text) const {
  std::size_t before = 0;
  for (const Message& message : messages_) before += count_calls(message.value);
  text.tool_calls = with_call_ids(text.tool_calls, before);
}

void Chat::take_answer(const ChatText& text, std::span<const TokenId> ids,
                       std::string_view of_ids) {
  if (!continues_answer()) {
    messages_.push_back({answer_message(TemplateValue::answer(text.content), text),
                         {ids.begin(), ids.end()},
                         std::string(of_ids)});
    return;
  }
  Message& last = messages_.back();
  const bool is_generated = !last.text.empty();
  const std::string content = std::string(text_of(last.value, "content")).append(text.content);
  last.value = with_answer(
      last.value, is_generated ? TemplateValue::answer(content) : TemplateValue::string(content),
      text);
  if (!is_generated) return;
  last.ids.insert(last.ids.end(), ids.begin(), ids.end());
  last.text += of_ids;
}

}  // namespace polystate
