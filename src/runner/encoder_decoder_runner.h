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
    return model_->limits().max_source_length;
  }
  [[nodiscard]] std::int64_t max_length() const override { return model_->limits().max_length; }

 private:
  EncoderDecoderRunner(std::unique_ptr<EncoderDecoder> model, GenerationConfig config);

  std::unique_ptr<EncoderDecoder> model_;
  GenerationConfig config_;
  std::vector<std::string> warnings_;
  std::atomic<bool> busy_ = false;
};

}  // namespace polystate
