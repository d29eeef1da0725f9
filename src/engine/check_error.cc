#include "engine/check_error.h"

#include <algorithm>
#include <string>

#include "core/text.h"
#include "kernels/check_failure.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

Error check_error(const MethodSpec& method, const CheckFailure& failure) {
  const auto check = std::ranges::find(method.checks, failure.id, &Check::id);
  if (check == method.checks.end()) {
    return Error{ErrorCode::kEngine, "method '" + method.name + "': check " +
                                         std::to_string(failure.id) +
                                         ", which is not in manifest.json, found " + failure.found};
  }
  const std::string condition = "'" + check->text + "' does not hold";
  return Error{ErrorCode::kContract, "method '" + method.name +
                                         "': " + with_source(condition, check->source) +
                                         ": found " + failure.found};
}

}  // namespace polystate
