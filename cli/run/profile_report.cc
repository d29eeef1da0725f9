#include "cli/run/profile_report.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/artifact_program.h"
#include "cli/table.h"
#include "core/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "profile/call_times.h"
#include "profile/etdump.h"
#include "profile/kernel_trace.h"
#include "program/program.h"

namespace polystate::cli {
namespace {

// "12.3".
std::string one_digit(double value) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, 1);
  return {buffer.data(), end};
}

std::string microseconds_text(std::uint64_t nanoseconds) {
  constexpr double kNanoseconds = 1000;  // of a microsecond
  return one_digit(static_cast<double>(nanoseconds) / kNanoseconds);
}

}  // namespace

Result<std::vector<profile::CallTimes>> read_profile(const Artifact& artifact,
                                                     const std::vector<std::string>& methods,
                                                     std::span<const std::byte> record) {
  Result<std::vector<profile::CallTimes>> calls = std::vector<profile::CallTimes>();
  if (has_operators(artifact)) {
    const Result<program::Program> program = program_of(artifact);
    if (!program) return program.error();
    calls = profile::read_etdump(record, *program, methods);
  } else {
    calls = profile::read_kernel_trace(record, methods);
  }
  if (!calls) return Error{ErrorCode::kEngine, calls.error().message};
  return calls;
}

std::string times_text(const std::vector<profile::CallTimes>& calls) {
  const std::vector<profile::OperatorSum> times = profile::operator_sums(calls);
  std::uint64_t total = 0;
  for (const profile::OperatorSum& time : times) total += time.nanoseconds;
  Table table;
  table.add_row({"operator", "calls", "microseconds", "%"});
  for (const profile::OperatorSum& time : times) {
    const double part =
        total == 0 ? 0 : 100 * static_cast<double>(time.nanoseconds) / static_cast<double>(total);
    table.add_row({time.name, std::to_string(time.calls), microseconds_text(time.nanoseconds),
                   one_digit(part)});
  }
  for (const std::size_t column : {1, 2, 3}) table.align_right(column);
  return table.text();
}

std::string times_json(const std::vector<profile::CallTimes>& calls) {
  nlohmann::ordered_json times = nlohmann::ordered_json::array();
  for (const profile::OperatorSum& time : profile::operator_sums(calls)) {
    times.push_back(
        {{"name", time.name}, {"calls", time.calls}, {"nanoseconds", time.nanoseconds}});
  }
  const nlohmann::ordered_json report = {{"times", std::move(times)}};
  return report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string flame_svg(const std::vector<profile::CallTimes>& calls) {
  report::FlameGraph graph = profile::flame_graph_of(calls);
  graph.caption = "What " + count_text(calls.size(), "call") + " took";
  return report::flame_svg(graph);
}

}  // namespace polystate::cli
