#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"

namespace polystate {

// The runner of artifacts whose constant `runner` is "encoder_decoder" (see EncoderDecoder).
class EncoderDecoderRunner final : public Runner {
 public:
  static Result<std::unique_ptr<Runner>> open(const Model& model);

  Result<std::vector<std::vector<GeneratedSequence>>> generate(
      std::span<const GenerationInput> inputs, const GenerationOptions& options) override;

  [[nodiscard]] const GenerationConfig& default_config() const override { return config_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }
  [[nodiscard]] std::int64_t max_source_length() const override {
    return encoder_decoder_->limits().max_source_length;
  }
  [[nodiscard]] std::int64_t max_length() const override {
    return encoder_decoder_->limits().max_length;
  }

 private:
  EncoderDecoderRunner(const Model& model, std::unique_ptr<EncoderDecoder> encoder_decoder,
                       GenerationConfig config, std::vector<std::string> warnings);

  // What is to share the rows of a plan: encoder_decoder_, or several of single_threaded_.
  std::span<const std::unique_ptr<EncoderDecoder>> models_for(const GenerationPlan& plan);
  Result<std::vector<std::vector<GeneratedSequence>>> run(
      const GenerationPlan& plan, std::span<const std::unique_ptr<EncoderDecoder>> models);

  Model model_;
  // For few rows: all threads work on each step of one batch.
  std::unique_ptr<EncoderDecoder> encoder_decoder_;
  // For many: each thread has a batch of its own, and waits for no other. Opened when needed.
  std::vector<std::unique_ptr<EncoderDecoder>> single_threaded_;
  GenerationConfig config_;
  std::vector<std::string> warnings_;
  std::atomic<bool> busy_ = false;
};

}  // namespace polystate
