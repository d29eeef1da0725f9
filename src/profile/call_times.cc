#include "profile/call_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polystate/report/document.h"
#include "program/groups.h"

namespace polystate::profile {
namespace {

using report::Tone;

class FlameMaker {
 public:
  FlameMaker() : groups_(graph_.groups) { graph_.unit = "\u00b5s"; }

  void add(const CallTimes& call, std::size_t number) {
    const std::size_t bottom =
        add_box(std::to_string(number) + ": " + call.method, call.nanoseconds, {});
    std::map<std::string, std::uint64_t> sums;
    for (const OperatorTime& time : call.operators) sums[time.name] += time.nanoseconds;
    std::map<std::string, std::size_t> boxes;
    for (const OperatorTime& time : call.operators) {
      auto box = boxes.find(time.name);
      if (box == boxes.end()) {
        const std::size_t index = add_box(time.name, sums[time.name], bottom, group_of(time.kind));
        box = boxes.emplace(time.name, index).first;
      }
      add_box(time.label, time.nanoseconds, box->second, group_of(time.kind));
    }
  }

  report::FlameGraph graph() && { return std::move(graph_); }

 private:
  report::GroupIndex group_of(OperatorTime::Kind kind) {
    switch (kind) {
      case OperatorTime::Kind::kDelegate:
        return groups_.index("delegates", Tone::kBlue);
      case OperatorTime::Kind::kCopy:
        return groups_.index("copies of data", Tone::kWarning);
      case OperatorTime::Kind::kKernel:
        break;
    }
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
  program::Groups groups_;
};

}  // namespace

std::vector<OperatorSum> operator_sums(const std::vector<CallTimes>& calls) {
  std::map<std::string, OperatorSum> by_name;
  OperatorSum outside{.name = "outside of operators", .calls = calls.size()};
  for (const CallTimes& call : calls) {
    std::uint64_t inside = 0;
    for (const OperatorTime& time : call.operators) {
      OperatorSum& sum = by_name[time.name];
      sum.name = time.name;
      ++sum.calls;
      sum.nanoseconds += time.nanoseconds;
      inside += time.nanoseconds;
    }
    outside.nanoseconds += call.nanoseconds > inside ? call.nanoseconds - inside : 0;
  }
  std::vector<OperatorSum> sums;
  sums.reserve(by_name.size() + 1);
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  std::ranges::stable_sort(sums, std::ranges::greater(), &OperatorSum::nanoseconds);
  sums.push_back(std::move(outside));
  return sums;
}

report::FlameGraph flame_graph_of(const std::vector<CallTimes>& calls) {
  FlameMaker maker;
  for (std::size_t i = 0; i < calls.size(); ++i) maker.add(calls[i], i + 1);
  return std::move(maker).graph();
}

}  // namespace polystate::profile
