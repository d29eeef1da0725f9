#include "profile/kernel_trace.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "profile/call_times.h"

namespace polystate::profile {
namespace {

Result<std::vector<CallTimes>> read(const std::string& events,
                                    const std::vector<std::string>& methods = {}) {
  const std::string text = R"({"displayTimeUnit": "ns", "traceEvents": )" + events + "}";
  return read_kernel_trace(std::as_bytes(std::span(text)), methods);
}

TEST(KernelTrace, HasTheKernelsOfEachCall) {
  const std::string events = R"([
    {"name": "step", "cat": "method", "ph": "X", "ts": 0, "dur": 12.5, "pid": 0, "tid": 0},
    {"name": "cpp_fused_add_0", "cat": "kernel", "ph": "X", "ts": 1, "dur": 2.25, "pid": 0, "tid": 0},
    {"name": "aoti_torch_cpu_mm_out", "cat": "kernel", "ph": "X", "ts": 4, "dur": 8, "pid": 0, "tid": 0},
    {"name": "read", "cat": "method", "ph": "X", "ts": 20, "dur": 1, "pid": 0, "tid": 0}
  ])";
  const std::vector<CallTimes> calls = read(events, {"step", "read"}).value();
  ASSERT_EQ(calls.size(), 2);
  EXPECT_EQ(calls[0].method, "step");
  EXPECT_EQ(calls[0].nanoseconds, 12500);
  ASSERT_EQ(calls[0].operators.size(), 2);
  EXPECT_EQ(calls[0].operators[0].name, "cpp_fused_add_0");
  EXPECT_EQ(calls[0].operators[0].nanoseconds, 2250);
  EXPECT_EQ(calls[0].operators[1].label, "1");
  EXPECT_TRUE(calls[1].operators.empty());
}

TEST(KernelTrace, NothingIsNoCalls) { EXPECT_TRUE(read("[]").value().empty()); }

TEST(KernelTrace, OfOtherCallsIsRefused) {
  const std::string step = R"([{"name": "step", "cat": "method", "dur": 1}])";
  EXPECT_TRUE(read(step, {"step"}));
  EXPECT_EQ(read(step, {"read"}).error().code, ErrorCode::kArtifact);
  EXPECT_EQ(read(step, {"step", "step"}).error().code, ErrorCode::kArtifact);
}

class BadTrace : public ::testing::TestWithParam<const char*> {};

TEST_P(BadTrace, IsRefused) { EXPECT_EQ(read(GetParam()).error().code, ErrorCode::kArtifact); }

INSTANTIATE_TEST_SUITE_P(KernelTrace, BadTrace,
                         ::testing::Values(R"([)", R"({})", R"([1])",
                                           R"([{"name": "a", "cat": "cpu_op", "dur": 1}])",
                                           R"([{"name": "a", "cat": "kernel", "dur": 1}])",
                                           R"([{"name": "a", "cat": "method"}])",
                                           R"([{"name": "a", "cat": "method", "dur": -1}])",
                                           R"([{"name": "a", "cat": "method", "dur": 1e300}])",
                                           R"([{"name": "a", "cat": "method", "dur": "1"}])"));

}  // namespace
}  // namespace polystate::profile
