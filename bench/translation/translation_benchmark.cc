// Times the generation of a workload, as peers.py does for other engines:
// bench_translation ARTIFACT WORKLOAD. run.py says what a workload is; the figures go to stdout as
// JSON.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/elapsed.h"
#include "bench/resident.h"
#include "bench/value_or_exit.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"

namespace polystate::bench {
namespace {

using Json = nlohmann::json;

GenerationConfig config_of(GenerationConfig config, const Json& workload) {
  config.num_beams = workload.at("beams").get<std::int64_t>();
  if (workload.contains("target")) {
    config.max_new_tokens = workload.at("target").get<std::int64_t>();
    config.min_new_tokens = workload.at("target").get<std::int64_t>();
  }
  return config;
}

GenerationConfig one_token(GenerationConfig config) {
  config.max_new_tokens = 1;
  config.min_new_tokens.reset();
  return config;
}

// One pass over ids, each text forced to its length, or over text.
class Passes {
 public:
  Passes(const Model& model, const Json& workload) {
    if (workload.contains("lines")) {
      lines_ = workload.at("lines").get<std::vector<std::string>>();
      pipeline_ = value_or_exit(Pipeline::create(model));
      config_ = config_of(pipeline_->default_config(), workload);
      options_.config = config_;
      return;
    }
    for (const Json& source : workload.at("sources"))
      inputs_.push_back({.source = source.get<std::vector<TokenId>>(), .prompt = {}});
    runner_ = value_or_exit(open_runner(model));
    config_ = config_of(runner_->default_config(), workload);
    generation_.config = config_;
  }

  void run() {
    if (pipeline_ != nullptr) {
      value_or_exit(pipeline_->run(lines_, options_));
    } else {
      value_or_exit(runner_->generate(inputs_, generation_));
    }
  }

  // The first token of the first text.
  void run_first() {
    if (pipeline_ != nullptr) {
      PipelineOptions options = options_;
      options.config = one_token(config_);
      value_or_exit(pipeline_->run(std::span(lines_).first(1), options));
    } else {
      GenerationOptions options = generation_;
      options.config = one_token(config_);
      value_or_exit(runner_->generate(std::span(inputs_).first(1), options));
    }
  }

 private:
  GenerationConfig config_;
  std::vector<std::string> lines_;
  std::unique_ptr<Pipeline> pipeline_;
  PipelineOptions options_;
  std::vector<GenerationInput> inputs_;
  std::unique_ptr<Runner> runner_;
  GenerationOptions generation_;
};

Json measure(const std::string& artifact, const Json& workload) {
  const auto start = Clock::now();
  ModelOptions options;
  options.threads = workload.at("threads").get<std::int64_t>();
  options.trust_code = true;  // it was made here
  const Model model = value_or_exit(Model::open(artifact, options));
  Passes passes(model, workload);
  Json found = {{"open", seconds_since(start)}, {"seconds", Json::array()}};
  passes.run_first();
  found["first_token"] = seconds_since(start);
  for (int i = 0; i <= workload.at("passes").get<int>(); ++i) {
    const auto before = Clock::now();
    passes.run();
    if (i > 0) found["seconds"].push_back(seconds_since(before));  // the first one warms up
  }
  found["resident"] = resident_bytes();
  found["resident_at_most"] = resident_bytes_at_most();
  return found;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::fputs("usage: bench_translation ARTIFACT WORKLOAD\n", stderr);
    return 2;
  }
  std::ifstream file(arguments[1]);
  std::puts(measure(arguments[0], Json::parse(file)).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  try {
    return polystate::bench::run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::exception& error) {  // the workload is no JSON, or lacks something
    std::fprintf(stderr, "bench_translation: %s\n", error.what());
    return 1;
  }
}
