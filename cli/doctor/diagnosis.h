#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/cpu.h"
#include "cli/doctor/golden.h"
#include "cli/exit_status.h"

namespace polystate::cli {

enum class Outcome : std::uint8_t { kPassed, kFailed, kSkipped };

// One thing that `polystate doctor` looked at.
struct Step {
  std::string name;  // "artifact", "engine", "memory", "session", "golden"
  Outcome outcome;
  std::string detail;  // what was found, or the error
};

// Everything that `polystate doctor` found out. Steps stop at the first that fails.
struct Diagnosis {
  Cpu cpu;
  std::map<std::string, std::string> here;  // versions of this program: polystate, executorch
  std::map<std::string, std::string>
      exported_by;  // versions of the artifact; empty when it cannot be opened
  std::vector<Step> steps;
  std::optional<Deviation> deviation;  // of the golden calls
  ExitStatus status = ExitStatus::kSuccess;
};

// What precedes the steps, for people: the machine and this program's versions.
std::string machine_text(const Diagnosis& diagnosis);
// A step for people, in lines that align with the others'.
std::string step_text(const Step& step);
std::string_view outcome_name(Outcome outcome);  // "ok", "FAILED", "skipped"

// The whole as one line of JSON; docs/command_line.md lists the keys.
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace polystate::cli
