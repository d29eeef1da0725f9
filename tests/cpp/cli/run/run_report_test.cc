#include "cli/run/run_report.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

Tensor number(std::int64_t value) { return Tensor::of<std::int64_t>({}, {value}).value(); }

// The entries by name, each tensor as its one number.
std::map<std::string, std::int64_t> entries_of(const std::vector<CallResult>& results) {
  std::map<std::string, std::int64_t> numbers;
  for (const auto& [name, tensor] : results_entries(results)) {
    numbers[name] = tensor.values<std::int64_t>()[0];
  }
  return numbers;
}

TEST(RunReport, NoEntryIsLostWhereNamesAreTaken) {
  const CallResult result{.method = "step",
                          .outputs = {{"x", number(1)}, {"input_x", number(2)}},
                          .written = {{"x", number(3)}, {"y", number(4)}}};
  const std::map<std::string, std::int64_t> single = {
      {"x", 1}, {"input_x", 2}, {"input_input_x", 3}, {"y", 4}};
  EXPECT_EQ(entries_of({result}), single);
  const std::map<std::string, std::int64_t> several = {{"call_000/x", 1},
                                                       {"call_000/input_x", 2},
                                                       {"call_000/input_input_x", 3},
                                                       {"call_000/y", 4},
                                                       {"call_001/x", 5}};
  EXPECT_EQ(entries_of({result, {.method = "step", .outputs = {{"x", number(5)}}, .written = {}}}),
            several);
}

}  // namespace
}  // namespace polystate::cli
