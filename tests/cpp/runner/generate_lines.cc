// Generates for the differential tests in Python, many a process. Each line of the standard input
// is a JSON object: {"fake": {"vocabulary_size": ..., "seed": ..., "scale": ...}, "config": {name:
// value, ...}, "inputs": [{"source": [...], "prompt": [...]}, ...]}. The answer to each is a line:
// {"sequences": [[ids, ...], ...], "scores": [[score, ...], ...], "token_scores": ...,
// "token_logits": ...} or {"error": ...}. The last two have the scores of each sequence one after
// another [generated * vocabulary], where the configuration asks for them; null is -inf.

#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/fake_token_model.h"

namespace {

using nlohmann::json;
using namespace polystate;  // NOLINT(google-build-using-namespace): a program of its tests

std::shared_ptr<FakeTokenModel> read_fake(const json& line) {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->vocabulary_size = line.value("vocabulary_size", fake->vocabulary_size);
  fake->seed = line.value("seed", fake->seed);
  fake->scale = line.value("scale", fake->scale);
  fake->max_sequences = line.value("max_sequences", fake->max_sequences);
  return fake;
}

std::vector<GenerationInput> read_inputs(const json& line) {
  std::vector<GenerationInput> inputs;
  for (const json& each : line) {
    inputs.push_back(
        {each["source"].get<std::vector<TokenId>>(), each.value("prompt", std::vector<TokenId>())});
  }
  return inputs;
}

json to_json(const Error& error) {
  return {{"error", error.message}, {"code", static_cast<int>(error.code)}};
}

json answer(const json& line) {
  const auto runner = open_runner(make_model(read_fake(line["fake"])));
  if (!runner) return to_json(runner.error());
  GenerationConfig config;
  for (const auto& [name, value] : line["config"].items()) {
    if (const Status set = config.set(name, value.dump()); !set) return to_json(set.error());
  }
  GenerationOptions options;
  options.config = std::move(config);
  const auto generated = (*runner)->generate(read_inputs(line["inputs"]), options);
  if (!generated) return to_json(generated.error());
  json sequences = json::array();
  json scores = json::array();
  json token_scores = json::array();
  json token_logits = json::array();
  for (const auto& of_input : *generated) {
    json ids = json::array();
    json own = json::array();
    for (const GeneratedSequence& sequence : of_input.sequences) {
      ids.push_back(sequence.ids);
      own.push_back(sequence.score ? json(*sequence.score) : json());
      token_scores.push_back(sequence.scores);
      token_logits.push_back(sequence.logits);
    }
    sequences.push_back(ids);
    scores.push_back(own);
  }
  return {{"sequences", sequences},
          {"scores", scores},
          {"token_scores", token_scores},
          {"token_logits", token_logits}};
}

}  // namespace

int main() {
  try {
    for (std::string text; std::getline(std::cin, text);) {
      std::cout << answer(json::parse(text)) << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << "generate_lines: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
