#include "polystate/tokenizer/options.h"

#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate {

Result<SpecialTokenPolicy> special_token_policy(std::string_view name) {
  if (name == "accept") return SpecialTokenPolicy::kAccept;
  if (name == "plain_text") return SpecialTokenPolicy::kPlainText;
  if (name == "refuse") return SpecialTokenPolicy::kRefuse;
  return Error{ErrorCode::kContract, "the policy for special tokens is '" + std::string(name) +
                                         "': 'accept', 'plain_text' or 'refuse' is needed"};
}

}  // namespace polystate
