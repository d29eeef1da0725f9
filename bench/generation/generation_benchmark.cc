// Times the continuation of prompts, as peers.py does for other engines:
// bench_generation ARTIFACT WORKLOAD. workloads.py says what a workload is; the figures go to
// stdout as JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/elapsed.h"
#include "bench/resident.h"
#include "bench/value_or_exit.h"
#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"

namespace polystate::bench {
namespace {

using Json = nlohmann::json;

// Seconds until the first token of a prompt, and from there until the last.
struct Times {
  double prefill;
  double decode;
};

Times continue_prompt(Runner& runner, const GenerationConfig& config,
                      const std::vector<TokenId>& prompt) {
  double first = 0.0;
  GenerationOptions options;
  options.config = config;
  const auto start = Clock::now();
  options.on_token = [&](std::size_t, TokenId) {
    if (first == 0.0) first = seconds_since(start);
    return true;
  };
  const GenerationInput input = {.source = {}, .prompt = prompt};
  value_or_exit(runner.generate({&input, 1}, options));
  return {.prefill = first, .decode = seconds_since(start) - first};
}

Json measure(const std::string& artifact, const Json& workload) {
  const auto start = Clock::now();
  ModelOptions options;
  options.threads = workload.at("threads").get<std::int64_t>();
  const Model model = value_or_exit(Model::open(artifact, options));
  const std::unique_ptr<Runner> runner = value_or_exit(open_runner(model));
  GenerationConfig config = runner->default_config();
  config.do_sample = false;
  config.max_new_tokens = workload.at("new_tokens").get<std::int64_t>();
  config.min_new_tokens = config.max_new_tokens;
  Json found = {{"open", seconds_since(start)}, {"prefill", {}}, {"decode", {}}};
  for (const Json& prompt : workload.at("prompts")) {
    const Times times = continue_prompt(*runner, config, prompt.get<std::vector<TokenId>>());
    if (!found.contains("first_token")) {
      found["first_token"] = found["open"].get<double>() + times.prefill;
    } else {  // the first one warms up
      found["prefill"].push_back(times.prefill);
      found["decode"].push_back(times.decode);
    }
  }
  found["resident_at_most"] = resident_bytes_at_most();
  return found;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    std::fputs("usage: bench_generation ARTIFACT WORKLOAD\n", stderr);
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
    std::fprintf(stderr, "bench_generation: %s\n", error.what());
    return 1;
  }
}
