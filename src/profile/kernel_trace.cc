#include "profile/kernel_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "profile/call_times.h"

namespace polystate::profile {
namespace {

// Microseconds, as a trace counts them.
std::uint64_t nanoseconds_of(const JsonCursor& microseconds) {
  constexpr double kNanoseconds = 1000;
  constexpr double kMost = 1e18;  // of a call: thirty years
  const double value = microseconds.nonnegative_number() * kNanoseconds;
  if (value > kMost) {
    microseconds.fail_as_not("a time");
    return 0;
  }
  return static_cast<std::uint64_t>(std::llround(value));
}

}  // namespace

Result<std::vector<CallTimes>> read_kernel_trace(std::span<const std::byte> file,
                                                 const std::vector<std::string>& methods) {
  const Result<Json> document =
      parse_json({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!document) return Error{ErrorCode::kArtifact, "the trace: " + document.error().message};
  Status status;
  const JsonCursor root(*document, status, "the trace");
  std::vector<CallTimes> calls;
  for (const JsonCursor& event : root["traceEvents"].elements()) {
    const std::string category = event["cat"].text();
    const std::string name = event["name"].text();
    const std::uint64_t nanoseconds = nanoseconds_of(event["dur"]);
    if (category == "method") {
      calls.push_back({.method = name, .nanoseconds = nanoseconds});
    } else if (category != "kernel") {
      event["cat"].fail_as_not("'method' or 'kernel'");
    } else if (calls.empty()) {
      event.fail("comes before the call of a method");
    } else {
      std::vector<OperatorTime>& kernels = calls.back().operators;
      kernels.push_back(
          {.name = name, .label = std::to_string(kernels.size()), .nanoseconds = nanoseconds});
    }
    if (!status) return status.error();
  }
  if (!status) return status.error();
  if (!std::ranges::equal(calls, methods, {}, &CallTimes::method))
    return Error{ErrorCode::kArtifact, "the trace is of other calls"};
  return calls;
}

}  // namespace polystate::profile
