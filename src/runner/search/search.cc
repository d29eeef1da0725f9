#include "runner/search/search.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "runner/search/beam_search.h"
#include "runner/search/row_processors.h"
#include "runner/search/sampling_search.h"

namespace polystate {

Result<std::unique_ptr<Search>> make_search(const SearchContext& context) {
  Result<RowProcessors> processors = RowProcessors::start(context);
  if (!processors) return processors.error();
  if (context.config.num_beams > 1) {
    return std::unique_ptr<Search>(new BeamSearch(context, std::move(*processors)));
  }
  return std::unique_ptr<Search>(new SamplingSearch(context, std::move(*processors)));
}

bool is_end(const GenerationConfig& config, TokenId token) {
  return std::find(config.eos_token_id.begin(), config.eos_token_id.end(), token) !=
         config.eos_token_id.end();
}

}  // namespace polystate
