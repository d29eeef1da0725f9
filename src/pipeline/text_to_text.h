#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// A text becomes the source of an encoder-decoder, and what it generates the answer: translation,
// summarization and their like.
class TextToTextPipeline : public Pipeline {
 public:
  TextToTextPipeline(std::string task, std::shared_ptr<const Tokenizer> tokenizer,
                     std::unique_ptr<Runner> runner);

  using Pipeline::run;
  Result<std::vector<std::vector<GeneratedText>>> run(std::span<const std::string> texts,
                                                      const PipelineOptions& options) override;

  [[nodiscard]] const std::string& task() const override { return task_; }
  [[nodiscard]] const GenerationConfig& default_config() const override {
    return runner_->default_config();
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  Result<std::vector<GenerationInput>> encode(std::span<const std::string> texts,
                                              const PipelineOptions& options) const;
  Result<GeneratedText> decode(GeneratedSequence sequence) const;

  std::string task_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::string> warnings_;
};

}  // namespace polystate
