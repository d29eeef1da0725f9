#include "program/profile.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "program/data_flow.h"
#include "program/flat_cursor.h"
#include "program/groups.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using report::Tone;

// Positions of fields in ExecuTorch's devtools/etdump/etdump_schema_flatcc.fbs.
namespace field {
constexpr std::size_t kRuns = 1;
constexpr std::size_t kRunName = 0;
constexpr std::size_t kRunEvents = 3;
constexpr std::size_t kEventProfile = 0;
constexpr std::size_t kName = 0;
constexpr std::size_t kInstruction = 2;
constexpr std::size_t kStart = 6;
constexpr std::size_t kEnd = 7;
}  // namespace field

// How ExecuTorch calls what it records.
constexpr std::string_view kCallBlock = "Execute";
constexpr std::string_view kWholeCall = "Method::execute";
constexpr std::array<std::string_view, 5> kInstructionEvents = {
    "OPERATOR_CALL", "DELEGATE_CALL", "MOVE_CALL", "JF_CALL", "FREE_CALL"};

// The file is FlatBuffers', behind its size.
constexpr std::size_t kSizePrefix = 4;
constexpr std::size_t kIdentifierPlace = kSizePrefix + 4;
constexpr std::string_view kEtdumpIdentifier = "ED00";

bool is_etdump(std::span<const std::byte> file) {
  if (file.size() < kIdentifierPlace + kEtdumpIdentifier.size()) return false;
  return std::ranges::equal(
      file.subspan(kIdentifierPlace, kEtdumpIdentifier.size()), kEtdumpIdentifier,
      [](std::byte byte, char letter) { return static_cast<char>(byte) == letter; });
}

// Adds what an event says of a call.
void read_event(const FlatCursor& event, ProfiledCall& call) {
  const std::string name = event.text(field::kName);
  const auto start = event.number<std::uint64_t>(field::kStart);
  const auto end = event.number<std::uint64_t>(field::kEnd);
  const std::uint64_t duration = end > start ? end - start : 0;
  if (name == kWholeCall) call.nanoseconds += duration;
  if (std::ranges::find(kInstructionEvents, name) == kInstructionEvents.end()) return;
  // Left out, it is -1: none.
  if (!event.has(field::kInstruction)) return;
  const auto instruction = event.number<std::int32_t>(field::kInstruction);
  if (instruction < 0) {
    event.fail("an event of instruction " + std::to_string(instruction));
    return;
  }
  call.instructions.push_back({static_cast<std::size_t>(instruction), duration});
}

class FlameMaker {
 public:
  FlameMaker() : groups_(graph_.groups) { graph_.unit = "\u00b5s"; }

  void add(const CallTimes& times, std::size_t number) {
    const std::size_t bottom =
        add_box(std::to_string(number) + ": " + times.method->name, times.call.nanoseconds, {});
    std::map<std::string, std::uint64_t> sums;
    for (const InstructionTime& time : times.call.instructions)
      sums[name_at(times, time)] += time.nanoseconds;
    std::map<std::string, std::size_t> boxes;
    for (const InstructionTime& time : times.call.instructions) {
      const std::string name = name_at(times, time);
      auto box = boxes.find(name);
      if (box == boxes.end()) {
        const std::size_t index = add_box(name, sums[name], bottom, group_of(times, time));
        box = boxes.emplace(name, index).first;
      }
      add_box(result_of(times, time), time.nanoseconds, box->second, group_of(times, time));
    }
  }

  report::FlameGraph graph() && { return std::move(graph_); }

 private:
  static const Instruction& instruction_at(const CallTimes& times, const InstructionTime& time) {
    return times.method->instructions[time.instruction];
  }

  static std::string name_at(const CallTimes& times, const InstructionTime& time) {
    return name_of(*times.method, instruction_at(times, time));
  }

  static std::string result_of(const CallTimes& times, const InstructionTime& time) {
    const std::vector<std::size_t>& arguments = instruction_at(times, time).arguments;
    const Tensor* const result =
        arguments.empty() ? nullptr : tensor_of(*times.method, arguments.back());
    const std::string number = std::to_string(time.instruction);
    return result == nullptr ? number : number + ": " + type_text(*result);
  }

  report::GroupIndex group_of(const CallTimes& times, const InstructionTime& time) {
    const Instruction& instruction = instruction_at(times, time);
    if (instruction.kind == Instruction::Kind::kDelegate)
      return groups_.index("delegates", Tone::kBlue);
    if (only_copies(name_of(*times.method, instruction)))
      return groups_.index("copies of data", Tone::kWarning);
    return groups_.index("kernels", Tone::kGood);
  }

  std::size_t add_box(const std::string& label, std::uint64_t nanoseconds,
                      std::optional<std::size_t> parent, report::GroupIndex group = {}) {
    constexpr double kNanoseconds = 1000;  // of a microsecond
    graph_.flames.push_back({.label = label,
                             .value = static_cast<double>(nanoseconds) / kNanoseconds,
                             .parent = parent,
                             .group = group});
    return graph_.flames.size() - 1;
  }

  report::FlameGraph graph_;
  Groups groups_;
};

}  // namespace

Result<std::vector<ProfiledCall>> read_profile(std::span<const std::byte> etdump) {
  if (!is_etdump(etdump)) return Error{ErrorCode::kArtifact, "the file is no ETDump"};
  FlatFile file(etdump.subspan(kSizePrefix));
  std::vector<ProfiledCall> calls;
  for (const FlatCursor& run : FlatCursor::root(file).tables(field::kRuns)) {
    if (run.text(field::kRunName) != kCallBlock) continue;
    ProfiledCall call;
    for (const FlatCursor& event : run.tables(field::kRunEvents)) {
      if (const auto profile = event.table(field::kEventProfile)) read_event(*profile, call);
    }
    calls.push_back(std::move(call));
  }
  if (!file.status()) return file.status().error();
  return calls;
}

Status check_times(const CallTimes& times) {
  const std::size_t count = times.method->instructions.size();
  for (const InstructionTime& time : times.call.instructions) {
    if (time.instruction >= count) {
      return Error{ErrorCode::kArtifact,
                   "the profile has instruction " + std::to_string(time.instruction) + " of " +
                       std::to_string(count) + " of method '" + times.method->name + "'"};
    }
  }
  return {};
}

std::vector<OperatorTime> operator_times(const std::vector<CallTimes>& calls) {
  std::map<std::string, OperatorTime> by_name;
  OperatorTime outside{.name = "outside of operators", .calls = calls.size()};
  for (const CallTimes& times : calls) {
    std::uint64_t inside = 0;
    for (const InstructionTime& time : times.call.instructions) {
      const std::string name = name_of(*times.method, times.method->instructions[time.instruction]);
      OperatorTime& sum = by_name[name];
      sum.name = name;
      ++sum.calls;
      sum.nanoseconds += time.nanoseconds;
      inside += time.nanoseconds;
    }
    outside.nanoseconds += times.call.nanoseconds > inside ? times.call.nanoseconds - inside : 0;
  }
  std::vector<OperatorTime> sums;
  sums.reserve(by_name.size() + 1);
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  std::ranges::stable_sort(sums, std::ranges::greater(), &OperatorTime::nanoseconds);
  sums.push_back(std::move(outside));
  return sums;
}

report::FlameGraph flame_graph_of(const std::vector<CallTimes>& calls) {
  FlameMaker maker;
  for (std::size_t i = 0; i < calls.size(); ++i) maker.add(calls[i], i + 1);
  return std::move(maker).graph();
}

}  // namespace polystate::program
