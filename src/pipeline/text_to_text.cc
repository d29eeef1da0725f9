#include "pipeline/text_to_text.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/text_stream.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// Drops the last tokens of the text itself, so that `limit` are left with those around it.
void shorten(Encoding& encoding, std::size_t limit) {
  for (std::size_t i = encoding.ids.size(); i > 0 && encoding.ids.size() > limit; --i) {
    if (encoding.special_tokens_mask[i - 1] == 0) {
      const auto at = static_cast<std::ptrdiff_t>(i - 1);
      encoding.ids.erase(encoding.ids.begin() + at);
    }
  }
}

std::string too_long(const std::string& input, std::size_t tokens, std::int64_t limit) {
  return input + " has " + std::to_string(tokens) + " tokens, and the model takes " +
         std::to_string(limit) + ": split the text, or have it truncated";
}

}  // namespace

TextToTextPipeline::TextToTextPipeline(std::string task, std::shared_ptr<const Tokenizer> tokenizer,
                                       std::unique_ptr<Runner> runner)
    : task_(std::move(task)), tokenizer_(std::move(tokenizer)), runner_(std::move(runner)) {
  for (const auto* const warnings : {&tokenizer_->warnings(), &runner_->warnings()})
    warnings_.insert(warnings_.end(), warnings->begin(), warnings->end());
}

Result<std::vector<std::vector<GeneratedText>>> TextToTextPipeline::run(
    std::span<const std::string> texts, const PipelineOptions& options) {
  const Result<std::vector<GenerationInput>> inputs = encode(texts, options);
  if (!inputs) return inputs.error();
  GenerationOptions generation{static_cast<const CallOptions&>(options), nullptr};
  GenerationConfig config = options.config.value_or(default_config());
  if (!config.stop_strings.empty()) {
    const Status taken = take_stop_strings(tokenizer_, config, generation.stopping_criteria);
    if (!taken) return taken.error();
    generation.config = std::move(config);
  }
  std::optional<TextStreams> streams;
  if (options.on_text) {
    streams.emplace(*tokenizer_, texts.size(), options.on_text);
    generation.on_token = [&](std::size_t input, TokenId token) {
      return streams->push(input, token);
    };
  }
  generation.on_done = [&](std::size_t input, const GenerationUsage& usage) {
    if (streams) streams->finish(input);
    if (options.on_done) options.on_done(input, usage);
  };
  Result<std::vector<GenerationResult>> results = runner_->generate(*inputs, generation);
  if (!results) return results.error();
  std::vector<std::vector<GeneratedText>> answers(results->size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (GeneratedSequence& sequence : (*results)[i].sequences) {
      Result<GeneratedText> text = decode(std::move(sequence));
      if (!text) return text.error();
      answers[i].push_back(std::move(*text));
    }
  }
  return answers;
}

Result<std::vector<GenerationInput>> TextToTextPipeline::encode(
    std::span<const std::string> texts, const PipelineOptions& options) const {
  const std::vector<EncodeInput> inputs(texts.begin(), texts.end());
  Result<std::vector<Encoding>> encodings =
      tokenizer_->encode_batch(inputs, {.truncate = false, .pad = false});
  if (!encodings) return encodings.error();
  const std::int64_t limit = runner_->max_source_length();
  std::vector<GenerationInput> sources(texts.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Encoding& encoding = (*encodings)[i];
    if (options.truncate) shorten(encoding, static_cast<std::size_t>(limit));
    if (encoding.ids.size() > static_cast<std::size_t>(limit)) {
      const std::string name = options.name_of ? options.name_of(i) : "input " + std::to_string(i);
      return Error{ErrorCode::kContract, too_long(name, encoding.ids.size(), limit)};
    }
    sources[i].source = std::move(encoding.ids);
  }
  return sources;
}

Result<GeneratedText> TextToTextPipeline::decode(GeneratedSequence sequence) const {
  Result<std::string> text = tokenizer_->decode(sequence.ids);
  if (!text) return text.error();
  return GeneratedText{std::move(*text), std::move(sequence.ids), sequence.score};
}

}  // namespace polystate
