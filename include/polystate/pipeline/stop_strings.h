#pragma once

#include <memory>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Ends a sequence with the token that completes one of `strings` in its text, as transformers'
// StopStringCriteria: the token may have more text after the string, the string may begin in the
// prompt, and a special token's own text counts. The string stays in the text. kContract without
// strings, and for an empty one.
Result<std::shared_ptr<const StoppingCriterion>> make_stop_strings(
    std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> strings);

// Moves the `stop_strings` of a configuration, where it has some, to `criteria`, which a runner
// takes. Errors as make_stop_strings; both are as before then.
Status take_stop_strings(const std::shared_ptr<const Tokenizer>& tokenizer,
                         GenerationConfig& config, StoppingCriteria& criteria);

}  // namespace polystate
