#include "polystate/runner/open_runner.h"

#include <memory>
#include <string>
#include <variant>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/session/model.h"
#include "runner/batch_runner.h"

namespace polystate {

Result<std::unique_ptr<Runner>> open_runner(const Model& model) {
  const auto& constants = model.manifest().constants;
  const auto found = constants.find("runner");
  const auto* name = found == constants.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (name == nullptr) {
    return Error{ErrorCode::kContract,
                 "this artifact does not generate tokens: its manifest has no constant 'runner'"};
  }
  if (*name == "token_model") return BatchRunner::open(model);
  if (*name == "encoder_decoder") {
    return Error{ErrorCode::kUnsupported,
                 "this artifact is of an older form, for the runner 'encoder_decoder', which read "
                 "one token of a row at a time: export the model again with polystate-export"};
  }
  return Error{ErrorCode::kUnsupported,
               "the runner '" + *name + "' is unknown; this build has 'token_model'"};
}

}  // namespace polystate
