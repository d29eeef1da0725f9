#include "engine/aoti/operator_failure.h"

#include <optional>
#include <utility>

#include "polystate/core/result.h"

namespace polystate {
namespace {

thread_local std::optional<Error> last_failure;

}  // namespace

void record_operator_failure(Error failure) { last_failure = std::move(failure); }

std::optional<Error> take_operator_failure() { return std::exchange(last_failure, {}); }

}  // namespace polystate
