#include "pipeline/text_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/chat_messages.h"
#include "pipeline/text_stream.h"
#include "pipeline/token_scores.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/chat_encoding.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// Which tokens of a text that is too long go.
enum class Cut : std::uint8_t { kBeginning, kEnd };

// Drops tokens of the text itself, so that `limit` are left with those around it.
void cut_tokens(Encoding& encoding, std::size_t limit, Cut cut) {
  const std::size_t size = encoding.ids.size();
  std::size_t excess = size - std::min(limit, size);
  std::vector<TokenId> kept;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = cut == Cut::kBeginning ? i : size - 1 - i;
    if (excess > 0 && encoding.special_tokens_mask[at] == 0) {
      --excess;
    } else {
      kept.push_back(encoding.ids[at]);
    }
  }
  if (cut == Cut::kEnd) std::ranges::reverse(kept);
  encoding.ids = std::move(kept);
}

// What messages call an input.
std::string name_of(const CallOptions& options, std::size_t input) {
  return options.name_of ? options.name_of(input) : "input " + std::to_string(input);
}

// The error of an input.
Error named(const std::string& name, const Error& error) {
  return {error.code, name + ": " + error.message};
}

// An answer as a message, of which nothing is lost.
TemplateValue read_answer(const ResponseTemplate& reader, std::string_view answer,
                          std::string_view prompt, const TemplateValue& tools) {
  for (const bool keeps_malformed : {false, true}) {
    Result<TemplateValue> message = parse_response(
        reader, answer, prompt, {.tools = tools, .keeps_malformed = keeps_malformed});
    if (message) return *std::move(message);
  }
  return make_message("assistant", TemplateValue::string(answer));
}

// Streams of the texts of a call.
class TextStreams {
 public:
  using OnPiece = std::function<bool(std::size_t input, std::string_view piece)>;

  static Result<TextStreams> start(const Tokenizer& tokenizer,
                                   std::span<const std::span<const TokenId>> prompts,
                                   const DecodeOptions& options, OnPiece on_text) {
    TextStreams streams(std::move(on_text));
    for (const std::span<const TokenId> prompt : prompts) {
      Result<TextStream> stream = TextStream::start(tokenizer, prompt, options);
      if (!stream) return stream.error();
      streams.streams_.push_back(std::move(*stream));
      streams.wants_more_.push_back(true);
    }
    return streams;
  }

  // False where the caller wants no more of this input, or something went wrong.
  bool push(std::size_t input, TokenId token) {
    return status_ && tell(input, streams_[input].push(token));
  }
  // Tells what is left of an input's text, of which no token follows.
  void finish(std::size_t input) {
    if (status_ && wants_more_[input]) (void)tell(input, streams_[input].finish());
  }
  // What went wrong in between.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  explicit TextStreams(OnPiece on_text) : on_text_(std::move(on_text)) {}

  // Tells the caller of a piece; whether the input goes on.
  bool tell(std::size_t input, const Result<std::string>& piece) {
    if (!piece) {
      status_ = piece.error();
      return false;
    }
    if (!piece->empty() && wants_more_[input]) wants_more_[input] = on_text_(input, *piece);
    return wants_more_[input];
  }

  std::vector<TextStream> streams_;  // one an input
  std::vector<bool> wants_more_;     // of each input: whether the caller does
  OnPiece on_text_;
  Status status_;
};

}  // namespace

TextPipeline::TextPipeline(std::string task, std::shared_ptr<const Tokenizer> tokenizer,
                           std::unique_ptr<Runner> runner, ChatTemplates templates,
                           const Sha256& digest)
    : task_(std::move(task)),
      tokenizer_(std::move(tokenizer)),
      runner_(std::move(runner)),
      templates_(std::move(templates)),
      digest_(digest) {
  for (const auto* const warnings : {&tokenizer_->warnings(), &runner_->warnings()})
    warnings_.insert(warnings_.end(), warnings->begin(), warnings->end());
}

Result<std::vector<std::vector<GeneratedText>>> TextPipeline::run(
    std::span<const std::string> texts, const PipelineOptions& options) {
  const Result<std::vector<GenerationInput>> inputs = encode(texts, options);
  if (!inputs) return inputs.error();
  return answer(*inputs, options, TextBegin::kAfterPrompt);
}

Result<std::vector<std::vector<GeneratedText>>> TextPipeline::run_chats(
    std::span<const ChatInput> chats, const PipelineOptions& options) {
  if (!continues_texts()) {
    return Error{ErrorCode::kUnsupported,
                 "the model has an encoder: it takes texts, and no conversations"};
  }
  const Result<std::vector<GenerationInput>> inputs = encode_chats(chats, options);
  if (!inputs) return inputs.error();
  if (!templates_.response_template()) return answer(*inputs, options, TextBegin::kAlone);
  const Result<ResponseTemplate> reader = ResponseTemplate::parse(*templates_.response_template());
  if (!reader) return reader.error();
  PipelineOptions with_special_tokens = options;
  with_special_tokens.skip_special_tokens = false;
  auto answers = answer(*inputs, with_special_tokens, TextBegin::kAlone);
  for (std::size_t i = 0; answers && i < chats.size(); ++i) {
    if (!chats[i].continue_final_message.empty()) continue;
    const Result<std::string> prompt =
        tokenizer_->decode((*inputs)[i].prompt, {.skip_special_tokens = false});
    if (!prompt) return prompt.error();
    for (GeneratedText& each : (*answers)[i])
      each.message = read_answer(*reader, each.text, *prompt, chats[i].tools);
  }
  return answers;
}

Result<std::vector<std::vector<GeneratedText>>> TextPipeline::answer(
    std::span<const GenerationInput> inputs, const PipelineOptions& options, TextBegin begin) {
  const DecodeOptions decoding{.skip_special_tokens = options.skip_special_tokens};
  GenerationOptions generation{static_cast<const CallOptions&>(options), nullptr};
  GenerationConfig config = options.config.value_or(default_config());
  if (options.response_format) {
    auto processor = constrain(*options.response_format,
                               {.ends = config.eos_token_id,
                                .forced_first = config.forced_bos_token_id,
                                .is_whole = begin == TextBegin::kAlone || !continues_texts()},
                               /*special=*/{});
    if (!processor) return processor.error();
    generation.processors.push_back(*std::move(processor));
  }
  if (!config.stop_strings.empty()) {
    const Status taken = take_stop_strings(tokenizer_, config, generation.stopping_criteria);
    if (!taken) return taken.error();
    generation.config = std::move(config);
  }
  std::optional<TextStreams> streams;
  if (options.on_text) {
    std::vector<std::span<const TokenId>> prompts(inputs.size());
    for (std::size_t i = 0; begin == TextBegin::kAfterPrompt && i < inputs.size(); ++i)
      prompts[i] = inputs[i].prompt;
    Result<TextStreams> started =
        TextStreams::start(*tokenizer_, prompts, decoding, options.on_text);
    if (!started) return started.error();
    streams = std::move(*started);
    generation.on_token = [&](std::size_t input, TokenId token) {
      return streams->push(input, token);
    };
  }
  generation.on_done = [&](std::size_t input, const GenerationUsage& usage) {
    if (streams) streams->finish(input);
    if (options.on_done) options.on_done(input, usage);
  };
  Result<std::vector<GenerationResult>> results = runner_->generate(inputs, generation);
  if (!results) return results.error();
  if (streams && !streams->status()) return streams->status().error();
  return decode_all(*std::move(results), inputs, decoding, begin);
}

Result<std::vector<TextScore>> TextPipeline::score(std::span<const std::string> texts,
                                                   const ScoreOptions& options) {
  if (!continues_texts()) {
    return Error{ErrorCode::kUnsupported,
                 "the model has an encoder: how probable a text is depends on its source"};
  }
  Result<std::vector<Encoding>> encodings = tokens_of(texts, options.add_special_tokens);
  if (!encodings) return encodings.error();
  std::vector<std::vector<TokenId>> sequences;
  sequences.reserve(encodings->size());
  for (Encoding& encoding : *encodings) sequences.push_back(std::move(encoding.ids));
  return score_tokens(*runner_, sequences, options);
}

Result<std::vector<Encoding>> TextPipeline::tokens_of(std::span<const std::string> texts,
                                                      bool add_special_tokens) const {
  const std::vector<EncodeInput> inputs(texts.begin(), texts.end());
  return tokenizer_->encode_batch(
      inputs, {.add_special_tokens = add_special_tokens, .truncate = false, .pad = false});
}

Result<std::vector<GenerationInput>> TextPipeline::encode(std::span<const std::string> texts,
                                                          const PipelineOptions& options) const {
  Result<std::vector<Encoding>> encodings = tokens_of(texts, options.add_special_tokens);
  if (!encodings) return encodings.error();
  const bool is_prompt = continues_texts();
  const std::int64_t kept = kept_tokens(options.config.value_or(default_config()));
  std::vector<GenerationInput> inputs(texts.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Encoding& encoding = (*encodings)[i];
    if (options.truncate) {
      cut_tokens(encoding, static_cast<std::size_t>(kept), is_prompt ? Cut::kBeginning : Cut::kEnd);
    }
    if (!is_prompt) {
      const Status checked = check_source(encoding, name_of(options, i));
      if (!checked) return checked.error();
    }
    (is_prompt ? inputs[i].prompt : inputs[i].source) = std::move(encoding.ids);
  }
  return inputs;
}

Result<std::vector<GenerationInput>> TextPipeline::encode_chats(
    std::span<const ChatInput> chats, const PipelineOptions& options) const {
  const std::int64_t kept = kept_tokens(options.config.value_or(default_config()));
  std::vector<GenerationInput> inputs(chats.size());
  for (std::size_t i = 0; i < chats.size(); ++i) {
    const Result<RenderedChat> rendered = templates_.render(chats[i]);
    if (!rendered) return named(name_of(options, i), rendered.error());
    Result<Encoding> encoding =
        encode_chat(*tokenizer_, templates_, *rendered, options.sanitize_control_tokens);
    if (!encoding) return named(name_of(options, i), encoding.error());
    if (options.truncate) cut_tokens(*encoding, static_cast<std::size_t>(kept), Cut::kBeginning);
    inputs[i].prompt = std::move(encoding->ids);
  }
  return inputs;
}

std::int64_t TextPipeline::kept_tokens(const GenerationConfig& config) const {
  if (!continues_texts()) return runner_->max_source_length();
  if (config.context == ContextPolicy::kSlide) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t room = runner_->max_length();
  const std::int64_t kept = config.max_new_tokens
                                ? room - *config.max_new_tokens
                                : std::min(config.max_length.value_or(room), room) - 1;
  return std::max<std::int64_t>(kept, 1);  // what leaves no room for a prompt, the runner refuses
}

Status TextPipeline::check_source(const Encoding& encoding, const std::string& name) const {
  const std::int64_t limit = runner_->max_source_length();
  if (std::ssize(encoding.ids) <= limit) return {};
  return Error{ErrorCode::kContract, name + " has " + std::to_string(encoding.ids.size()) +
                                         " tokens, and the model takes " + std::to_string(limit) +
                                         ": split the text, or have it truncated"};
}

Result<std::shared_ptr<const LogitsProcessor>> TextPipeline::constrain(const ResponseFormat& format,
                                                                       const ConstrainedText& text,
                                                                       const TextMarkers& special) {
  const auto compiler = grammars_.get(*tokenizer_, special);
  if (!compiler) return compiler.error();
  return (*compiler)->compile(format, text);
}

Result<std::vector<std::vector<GeneratedText>>> TextPipeline::decode_all(
    std::vector<GenerationResult> results, std::span<const GenerationInput> inputs,
    const DecodeOptions& options, TextBegin begin) const {
  std::vector<std::vector<GeneratedText>> answers(results.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (GeneratedSequence& sequence : results[i].sequences) {
      Result<GeneratedText> text = decode(std::move(sequence), inputs[i], options, begin);
      if (!text) return text.error();
      answers[i].push_back(std::move(*text));
    }
  }
  return answers;
}

// The sequence begins with the prompt, or with a start token in its place.
Result<GeneratedText> TextPipeline::decode(GeneratedSequence sequence, const GenerationInput& input,
                                           const DecodeOptions& options,
                                           TextBegin text_begin) const {
  const std::span<const TokenId> ids = sequence.ids;
  const std::size_t begin = std::min(std::max<std::size_t>(input.prompt.size(), 1), ids.size());
  const std::size_t before = text_begin == TextBegin::kAfterPrompt ? begin : 0;
  Result<TextStream> stream = TextStream::start(*tokenizer_, ids.first(before), options);
  if (!stream) return stream.error();
  std::string text;
  for (const TokenId id : ids.subspan(begin)) {
    const Result<std::string> piece = stream->push(id);
    if (!piece) return piece.error();
    text += *piece;
  }
  const Result<std::string> rest = stream->finish();
  if (!rest) return rest.error();
  return GeneratedText{text + *rest, std::move(sequence.ids), sequence.score,
                       sequence.finish_reason};
}

}  // namespace polystate
