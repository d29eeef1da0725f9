#include "kernels/check_failure.h"

#include <optional>
#include <utility>

namespace polystate {
namespace {

thread_local std::optional<CheckFailure> last_failure;

}  // namespace

void record_check_failure(CheckFailure failure) { last_failure = std::move(failure); }

std::optional<CheckFailure> take_check_failure() { return std::exchange(last_failure, {}); }

}  // namespace polystate
