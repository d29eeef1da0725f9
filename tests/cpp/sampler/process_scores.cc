// Processes scores for the differential tests in Python, many cases a process.
//
// Each case on the standard input is a line with a JSON object (config: the text of a
// generation_config.json; tokens, prompt_length, source, max_length, size), and then the `size`
// scores as float32. The answer is a line with an object, {"warnings": [...]}, and the processed
// scores; or {"error": ...} alone.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <ios>
#include <iostream>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"

namespace {

using nlohmann::json;
using polystate::GenerationConfig;
using polystate::Status;
using polystate::TokenId;

Status process(const json& line, std::vector<std::string>& warnings, std::vector<float>& scores) {
  const auto config = GenerationConfig::parse(line["config"].get<std::string>(), &warnings);
  if (!config) return config.error();
  const auto tokens = line["tokens"].get<std::vector<TokenId>>();
  const auto source = line["source"].get<std::vector<TokenId>>();
  const auto prompt_length = line["prompt_length"].get<std::size_t>();
  const auto processors = polystate::make_logits_processors(
      *config, {prompt_length, line["max_length"].get<std::int64_t>(), scores.size()});
  if (!processors) return processors.error();
  for (const auto& processor : *processors) {
    const Status status = processor->process({tokens, prompt_length, source}, scores);
    if (!status) return status;
  }
  return {};
}

void answer_cases() {
  for (std::string text; std::getline(std::cin, text);) {
    const json line = json::parse(text);
    std::vector<float> scores(line["size"].get<std::size_t>());
    const auto bytes = static_cast<std::streamsize>(scores.size() * sizeof(float));
    std::cin.read(reinterpret_cast<char*>(scores.data()), bytes);
    std::vector<std::string> warnings;
    const Status status = process(line, warnings, scores);
    if (!status) {
      std::cout << json{{"error", status.error().message}} << '\n';
      continue;
    }
    std::cout << json{{"warnings", warnings}} << '\n';
    std::cout.write(reinterpret_cast<const char*>(scores.data()), bytes);
  }
}

}  // namespace

int main() {
  try {
    answer_cases();
  } catch (const std::exception& error) {
    std::cerr << "process_scores: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
