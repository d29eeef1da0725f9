#include "cli/doctor/diagnosis.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/describe.h"
#include "cli/doctor/cpu.h"
#include "cli/doctor/golden.h"
#include "cli/exit_status.h"
#include "cli/table.h"
#include "cli/text.h"
#include "core/text.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameColumns = 10;
constexpr std::size_t kOutcomeColumns = 9;

std::string padded(std::string_view text, std::size_t columns) {
  std::string cell(text);
  cell.resize(columns, ' ');
  return cell;
}

// "x86-64, 2 threads: AVX2, FMA; without AVX-512".
std::string cpu_text(const Cpu& cpu) {
  std::vector<std::string> available;
  std::vector<std::string> missing;
  for (const CpuFeature& feature : cpu.features) {
    (feature.is_available ? available : missing).push_back(feature.name);
  }
  return cpu.architecture + ", " + count_text(cpu.threads, "thread") +
         (available.empty() ? "" : ": " + joined(available)) +
         (missing.empty() ? "" : "; without " + joined(missing));
}

Json cpu_json(const Cpu& cpu) {
  Json features = Json::object();
  for (const CpuFeature& feature : cpu.features) features[feature.name] = feature.is_available;
  return {{"architecture", cpu.architecture}, {"threads", cpu.threads}, {"features", features}};
}

Json steps_json(const std::vector<Step>& steps) {
  Json list = Json::array();
  for (const Step& step : steps) {
    list.push_back(
        {{"name", step.name}, {"outcome", outcome_name(step.outcome)}, {"detail", step.detail}});
  }
  return list;
}

Json deviation_json(const Deviation& deviation) {
  return {{"call", deviation.call},
          {"method", deviation.method},
          {"tensor", deviation.tensor},
          {"place", deviation.difference.place},
          {"expected", deviation.difference.expected},
          {"found", deviation.difference.found},
          {"limit", deviation.difference.limit}};
}

}  // namespace

std::string machine_text(const Diagnosis& diagnosis) {
  return step_text({"processor", Outcome::kPassed, cpu_text(diagnosis.cpu)}) +
         step_text({"versions", Outcome::kPassed, versions_text(diagnosis.here)});
}

std::string step_text(const Step& step) {
  const std::size_t indent = kNameColumns + kOutcomeColumns;
  std::string text;
  for (const std::string& line : wrap(printable(step.detail), kLineWidth - indent)) {
    text += text.empty() ? padded(step.name, kNameColumns) +
                               padded(outcome_name(step.outcome), kOutcomeColumns)
                         : std::string(indent, ' ');
    text += line + "\n";
  }
  return text;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "ok";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kSkipped:
      return "skipped";
  }
  return "";
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  const Json report = {
      {"ok", diagnosis.status == ExitStatus::kSuccess},
      {"cpu", cpu_json(diagnosis.cpu)},
      {"versions", diagnosis.here},
      {"exported_by", diagnosis.exported_by},
      {"steps", steps_json(diagnosis.steps)},
      {"deviation", diagnosis.deviation ? deviation_json(*diagnosis.deviation) : Json()}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace polystate::cli
