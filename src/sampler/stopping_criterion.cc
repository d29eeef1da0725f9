#include "polystate/sampler/stopping_criterion.h"

#include <string_view>

namespace polystate {

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kStoppingCriterion:
      return "stopping_criterion";
    case FinishReason::kMaxTime:
      return "max_time";
    case FinishReason::kUnfinished:
      break;
  }
  return "unfinished";
}

}  // namespace polystate
