#include "runner/search.h"

#include <algorithm>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "runner/beam_search.h"
#include "runner/sampling_search.h"

namespace polystate {

std::unique_ptr<Search> make_search(const SearchSetting& setting) {
  if (setting.config.num_beams > 1) return std::make_unique<BeamSearch>(setting);
  return std::make_unique<SamplingSearch>(setting);
}

Status process(const SearchSetting& setting, std::span<const TokenId> tokens,
               std::span<float> scores) {
  const TokenContext context = {tokens, setting.prompt.size(), setting.source};
  for (const auto& processor : setting.processors) {
    if (Status processed = processor->process(context, scores); !processed) return processed;
  }
  return {};
}

bool is_end(const GenerationConfig& config, TokenId token) {
  return std::find(config.eos_token_id.begin(), config.eos_token_id.end(), token) !=
         config.eos_token_id.end();
}

}  // namespace polystate
