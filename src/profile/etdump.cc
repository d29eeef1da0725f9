#include "profile/etdump.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "polystate/core/result.h"
#include "profile/call_times.h"
#include "program/data_flow.h"
#include "program/flat_cursor.h"
#include "program/program.h"

namespace polystate::profile {
namespace {

using program::FlatCursor;
using program::FlatFile;
using program::Instruction;
using program::Method;

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

OperatorTime::Kind kind_of(const Instruction& instruction, const std::string& name) {
  if (instruction.kind == Instruction::Kind::kDelegate) return OperatorTime::Kind::kDelegate;
  return program::only_copies(name) ? OperatorTime::Kind::kCopy : OperatorTime::Kind::kKernel;
}

// An instruction by its number, and the type of what it gives.
std::string label_of(const Method& method, std::size_t index) {
  const std::vector<std::size_t>& arguments = method.instructions[index].arguments;
  const program::Tensor* const result =
      arguments.empty() ? nullptr : program::tensor_of(method, arguments.back());
  const std::string number = std::to_string(index);
  return result == nullptr ? number : number + ": " + program::type_text(*result);
}

// Adds what an event says of a call of a method.
void read_event(const FlatCursor& event, const Method& method, CallTimes& call) {
  const std::string name = event.text(field::kName);
  const auto start = event.number<std::uint64_t>(field::kStart);
  const auto end = event.number<std::uint64_t>(field::kEnd);
  const std::uint64_t duration = end > start ? end - start : 0;
  if (name == kWholeCall) call.nanoseconds += duration;
  if (std::ranges::find(kInstructionEvents, name) == kInstructionEvents.end()) return;
  // Left out, it is -1: none.
  if (!event.has(field::kInstruction)) return;
  const auto number = event.number<std::int32_t>(field::kInstruction);
  if (number < 0 || static_cast<std::size_t>(number) >= method.instructions.size()) {
    event.fail("an event of instruction " + std::to_string(number) + " of " +
               std::to_string(method.instructions.size()) + " of method '" + method.name + "'");
    return;
  }
  const auto index = static_cast<std::size_t>(number);
  const Instruction& instruction = method.instructions[index];
  std::string of_operator = program::name_of(method, instruction);
  const OperatorTime::Kind kind = kind_of(instruction, of_operator);
  call.operators.push_back({.name = std::move(of_operator),
                            .label = label_of(method, index),
                            .kind = kind,
                            .nanoseconds = duration});
}

CallTimes read_call(const FlatCursor& run, const Method& method) {
  CallTimes call{.method = method.name};
  for (const FlatCursor& event : run.tables(field::kRunEvents)) {
    if (const auto profile = event.table(field::kEventProfile)) read_event(*profile, method, call);
  }
  return call;
}

}  // namespace

Result<std::vector<CallTimes>> read_etdump(std::span<const std::byte> file,
                                           const program::Program& program,
                                           const std::vector<std::string>& methods) {
  if (!is_etdump(file)) return Error{ErrorCode::kArtifact, "the file is no ETDump"};
  FlatFile flat(file.subspan(kSizePrefix));
  std::vector<FlatCursor> runs = FlatCursor::root(flat).tables(field::kRuns);
  std::erase_if(runs,
                [](const FlatCursor& run) { return run.text(field::kRunName) != kCallBlock; });
  if (!flat.status()) return flat.status().error();
  if (runs.size() != methods.size()) {
    return Error{ErrorCode::kArtifact, "the profile has " + count_text(runs.size(), "call") +
                                           "; there were " + std::to_string(methods.size())};
  }
  std::vector<CallTimes> calls;
  calls.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Result<std::size_t> method = program::find_method(program, methods[i]);
    if (!method) return Error{ErrorCode::kArtifact, method.error().message};
    calls.push_back(read_call(runs[i], program.methods[*method]));
  }
  if (!flat.status()) return flat.status().error();
  return calls;
}

}  // namespace polystate::profile
