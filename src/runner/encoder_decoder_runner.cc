#include "runner/encoder_decoder_runner.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"
#include "runner/scheduler.h"
#include "runner/sequence_length.h"
#include "session/claim.h"

namespace polystate {
namespace {

using Generated = std::vector<std::vector<GeneratedSequence>>;

constexpr const char* kConfigFile = "generation_config.json";

// What generation_config.json says; the defaults where there is none.
Result<GenerationConfig> read_config(const Artifact& artifact) {
  if (!artifact.manifest().files.contains(kConfigFile)) return GenerationConfig();
  const auto file = artifact.read(kConfigFile);
  if (!file) return file.error();
  const auto bytes = (*file)->bytes();
  Result<GenerationConfig> config =
      GenerationConfig::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (config) return config;
  return Error{config.error().code, std::string(kConfigFile) + ": " + config.error().message};
}

}  // namespace

EncoderDecoderRunner::EncoderDecoderRunner(std::unique_ptr<EncoderDecoder> model,
                                           GenerationConfig config)
    : model_(std::move(model)), config_(std::move(config)) {
  fit_lengths(config_, max_length(), warnings_);
}

Result<std::unique_ptr<Runner>> EncoderDecoderRunner::open(const Model& model) {
  Result<GenerationConfig> config = read_config(model.artifact());
  if (!config) return config.error();
  auto encoder_decoder = EncoderDecoder::open(model);
  if (!encoder_decoder) return encoder_decoder.error();
  return std::unique_ptr<Runner>(
      new EncoderDecoderRunner(std::move(encoder_decoder).value(), std::move(config).value()));
}

Result<Generated> EncoderDecoderRunner::generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) {
  const Result<Claim> claim = Claim::take(&busy_);
  if (!claim) return Error{ErrorCode::kBusy, "another thread is using this runner"};
  return or_out_of_memory("generate", "", [&]() -> Result<Generated> {
    const Result<GenerationPlan> plan = GenerationPlan::create(inputs, options, model_->limits());
    if (!plan) return plan.error();
    return Scheduler(*model_, *plan).run();
  });
}

}  // namespace polystate
