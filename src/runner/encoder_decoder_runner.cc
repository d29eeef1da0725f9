#include "runner/encoder_decoder_runner.h"

#include <algorithm>
#include <cstddef>
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
#include "runner/generation_queue.h"
#include "runner/scheduler.h"
#include "runner/sequence_length.h"
#include "session/claim.h"

namespace polystate {
namespace {

using Generated = std::vector<std::vector<GeneratedSequence>>;

constexpr const char* kConfigFile = "generation_config.json";

// What generation_config.json says; the defaults where there is none. `warnings` receives a
// sentence for each field that has no effect.
Result<GenerationConfig> read_config(const Artifact& artifact, std::vector<std::string>& warnings) {
  if (!artifact.manifest().files.contains(kConfigFile)) return GenerationConfig();
  const auto file = artifact.read(kConfigFile);
  if (!file) return file.error();
  const auto bytes = (*file)->bytes();
  std::vector<std::string> sentences;
  Result<GenerationConfig> config = GenerationConfig::parse(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &sentences);
  for (const std::string& sentence : sentences)
    warnings.push_back(std::string(kConfigFile) + ": " + sentence);
  if (config) return config;
  return Error{config.error().code, std::string(kConfigFile) + ": " + config.error().message};
}

// Fewer rows than this are bound by the memory that weights come from, where two threads that share
// a batch read them once.
constexpr std::size_t kRowsOfAThread = 16;

}  // namespace

EncoderDecoderRunner::EncoderDecoderRunner(const Model& model,
                                           std::unique_ptr<EncoderDecoder> encoder_decoder,
                                           GenerationConfig config,
                                           std::vector<std::string> warnings)
    : model_(model),
      encoder_decoder_(std::move(encoder_decoder)),
      config_(std::move(config)),
      warnings_(std::move(warnings)) {
  fit_lengths(config_, max_length(), warnings_);
}

Result<std::unique_ptr<Runner>> EncoderDecoderRunner::open(const Model& model) {
  std::vector<std::string> warnings;
  Result<GenerationConfig> config = read_config(model.artifact(), warnings);
  if (!config) return config.error();
  auto encoder_decoder = EncoderDecoder::open(model);
  if (!encoder_decoder) return encoder_decoder.error();
  return std::unique_ptr<Runner>(new EncoderDecoderRunner(
      model, std::move(encoder_decoder).value(), std::move(config).value(), std::move(warnings)));
}

Result<Generated> EncoderDecoderRunner::generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) {
  const Result<Claim> claim = Claim::take(&busy_);
  if (!claim) return Error{ErrorCode::kBusy, "another thread is using this runner"};
  return or_out_of_memory("generate", "", [&]() -> Result<Generated> {
    const Result<GenerationPlan> plan =
        GenerationPlan::create(inputs, options, encoder_decoder_->limits());
    if (!plan) return plan.error();
    return run(*plan, models_for(*plan));
  });
}

std::span<const std::unique_ptr<EncoderDecoder>> EncoderDecoderRunner::models_for(
    const GenerationPlan& plan) {
  const std::span<const std::unique_ptr<EncoderDecoder>> one(&encoder_decoder_, 1);
  const std::size_t rows = std::min(plan.rows(), plan.inputs().size() * plan.rows_per_input());
  const std::size_t count = std::min(model_.sessions_side_by_side(),
                                     rows / std::max(kRowsOfAThread, plan.rows_per_input()));
  if (count < 2 || plan.runs_callers_code()) return one;
  while (single_threaded_.size() < count) {
    auto opened = EncoderDecoder::open(model_, {.single_threaded = true});
    if (!opened) return one;  // there is no memory for it
    single_threaded_.push_back(std::move(opened).value());
  }
  return std::span(single_threaded_).first(count);
}

Result<Generated> EncoderDecoderRunner::run(
    const GenerationPlan& plan, std::span<const std::unique_ptr<EncoderDecoder>> models) {
  GenerationQueue queue(plan, encoder_decoder_->limits());
  const std::size_t inputs = std::min(plan.rows() / plan.rows_per_input(), plan.inputs().size());
  const std::size_t rows = (inputs + models.size() - 1) / models.size() * plan.rows_per_input();
  std::vector<Status> statuses(models.size());
  const auto generate_with = [&](std::size_t i) {
    statuses[i] = Scheduler(*models[i], plan, queue, rows).run();
    if (!statuses[i]) queue.clear();
  };
  if (models.size() == 1) {
    generate_with(0);  // on the caller's thread, as its code may expect
  } else {
    model_.parallel_for(models.size(), generate_with);
  }
  for (const Status& status : statuses) {
    if (!status) return status.error();
  }
  return queue.take_results();
}

}  // namespace polystate
