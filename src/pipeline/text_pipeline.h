#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/grammar_compilers.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The pipeline of any model of tokens. Where the model has an encoder, a text is its source, and
// what the decoder generates the answer; otherwise a text is the prompt, and what follows it the
// answer.
class TextPipeline final : public Pipeline {
 public:
  TextPipeline(std::string task, std::shared_ptr<const Tokenizer> tokenizer,
               std::unique_ptr<Runner> runner, ChatTemplates templates = {},
               const Sha256& digest = {});

  using Pipeline::run;
  Result<std::vector<std::vector<GeneratedText>>> run(std::span<const std::string> texts,
                                                      const PipelineOptions& options) override;
  Result<std::vector<std::vector<GeneratedText>>> run_chats(
      std::span<const ChatInput> chats, const PipelineOptions& options) override;
  Result<std::shared_ptr<const LogitsProcessor>> constrain(const ResponseFormat& format,
                                                           const ConstrainedText& text,
                                                           const TextMarkers& special) override;
  Result<std::vector<TextScore>> score(std::span<const std::string> texts,
                                       const ScoreOptions& options) override;

  [[nodiscard]] Runner& runner() override { return *runner_; }
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const override {
    return tokenizer_;
  }
  [[nodiscard]] const ChatTemplates& chat_templates() const override { return templates_; }

  [[nodiscard]] const Sha256& digest() const override { return digest_; }
  [[nodiscard]] const std::string& task() const override { return task_; }
  [[nodiscard]] bool continues_texts() const override { return runner_->max_source_length() == 0; }
  [[nodiscard]] const GenerationConfig& default_config() const override {
    return runner_->default_config();
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  // The tokens of texts of any length.
  Result<std::vector<Encoding>> tokens_of(std::span<const std::string> texts,
                                          bool add_special_tokens) const;
  Result<std::vector<GenerationInput>> encode(std::span<const std::string> texts,
                                              const PipelineOptions& options) const;
  Result<std::vector<GenerationInput>> encode_chats(std::span<const ChatInput> chats,
                                                    const PipelineOptions& options) const;
  // Whether an answer's text goes on from its prompt.
  enum class TextBegin : std::uint8_t { kAfterPrompt, kAlone };
  Result<std::vector<std::vector<GeneratedText>>> answer(std::span<const GenerationInput> inputs,
                                                         const PipelineOptions& options,
                                                         TextBegin begin);
  // How many tokens a text keeps where it is truncated.
  [[nodiscard]] std::int64_t kept_tokens(const GenerationConfig& config) const;
  [[nodiscard]] Status check_source(const Encoding& encoding, const std::string& name) const;
  [[nodiscard]] Result<std::vector<std::vector<GeneratedText>>> decode_all(
      std::vector<GenerationResult> results, std::span<const GenerationInput> inputs,
      const DecodeOptions& options, TextBegin begin) const;
  [[nodiscard]] Result<GeneratedText> decode(GeneratedSequence sequence,
                                             const GenerationInput& input,
                                             const DecodeOptions& options, TextBegin begin) const;

  std::string task_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<Runner> runner_;
  ChatTemplates templates_;
  Sha256 digest_;
  std::vector<std::string> warnings_;
  GrammarCompilers grammars_;
};

}  // namespace polystate
