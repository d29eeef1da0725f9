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
#include "program/profile.h"
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

Result<CallProfile> CallProfile::read(const Artifact& artifact,
                                      const std::vector<std::string>& methods,
                                      std::span<const std::byte> etdump) {
  Result<program::Program> program = program_of(artifact);
  if (!program) return program.error();
  Result<std::vector<program::ProfiledCall>> calls = program::read_profile(etdump);
  if (!calls) return Error{ErrorCode::kEngine, calls.error().message};
  if (calls->size() != methods.size()) {
    return Error{ErrorCode::kEngine, "the profile has " + count_text(calls->size(), "call") +
                                         "; there were " + std::to_string(methods.size())};
  }
  CallProfile profile(*std::move(program));
  profile.calls_ = *std::move(calls);
  for (const std::string& method : methods) {
    const Result<std::size_t> index = program::find_method(profile.program_, method);
    if (!index) return Error{ErrorCode::kArtifact, index.error().message};
    profile.methods_.push_back(*index);
  }
  for (const program::CallTimes& times : profile.calls()) {
    if (const Status fits = program::check_times(times); !fits)
      return Error{ErrorCode::kEngine, fits.error().message};
  }
  return profile;
}

std::vector<program::CallTimes> CallProfile::calls() const {
  std::vector<program::CallTimes> calls;
  calls.reserve(methods_.size());
  for (std::size_t i = 0; i < methods_.size(); ++i)
    calls.push_back({.method = &program_.methods[methods_[i]], .call = calls_[i]});
  return calls;
}

std::string CallProfile::times_text() const {
  const std::vector<program::OperatorTime> times = program::operator_times(calls());
  std::uint64_t total = 0;
  for (const program::OperatorTime& time : times) total += time.nanoseconds;
  Table table;
  table.add_row({"operator", "calls", "microseconds", "%"});
  for (const program::OperatorTime& time : times) {
    const double part =
        total == 0 ? 0 : 100 * static_cast<double>(time.nanoseconds) / static_cast<double>(total);
    table.add_row({time.name, std::to_string(time.calls), microseconds_text(time.nanoseconds),
                   one_digit(part)});
  }
  for (const std::size_t column : {1, 2, 3}) table.align_right(column);
  return table.text();
}

std::string CallProfile::times_json() const {
  nlohmann::ordered_json times = nlohmann::ordered_json::array();
  for (const program::OperatorTime& time : program::operator_times(calls())) {
    times.push_back(
        {{"name", time.name}, {"calls", time.calls}, {"nanoseconds", time.nanoseconds}});
  }
  const nlohmann::ordered_json report = {{"times", std::move(times)}};
  return report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string CallProfile::flame_svg() const {
  report::FlameGraph graph = program::flame_graph_of(calls());
  graph.caption = "What " + count_text(calls_.size(), "call") + " took";
  return report::flame_svg(graph);
}

}  // namespace polystate::cli
