#include "engine/executorch/program_tables.h"

#include <cstddef>
#include <span>
#include <string>

#include "engine/executorch/flat_table.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Positions of fields in ExecuTorch's schema/program.fbs.
constexpr std::size_t kProgramPlans = 1;
constexpr std::size_t kPlanChains = 5;
constexpr std::size_t kPlanOperators = 6;
constexpr std::size_t kPlanDelegates = 7;
constexpr std::size_t kChainInstructions = 2;
constexpr std::size_t kOperatorName = 0;
constexpr std::size_t kOperatorOverload = 1;
constexpr std::size_t kDelegateId = 0;

// So many instructions for each delegate make it one of little weight.
constexpr std::size_t kFew = 16;

Error nameless(std::size_t plan, const char* what, std::size_t index) {
  return Error{ErrorCode::kArtifact, "method " + std::to_string(plan) + ": " + what + " " +
                                         std::to_string(index) + " has no name"};
}

}  // namespace

Status check_tables(std::span<const std::byte> program) {
  const FlatTable root = FlatTable::root(program);
  for (std::size_t p = 0; p < root.count(kProgramPlans); ++p) {
    const FlatTable plan = root.table(kProgramPlans, p);
    for (std::size_t i = 0; i < plan.count(kPlanOperators); ++i) {
      const FlatTable used = plan.table(kPlanOperators, i);
      if (!used.has(kOperatorName) || !used.has(kOperatorOverload)) {
        return nameless(p, "operator", i);
      }
    }
    for (std::size_t i = 0; i < plan.count(kPlanDelegates); ++i) {
      if (!plan.table(kPlanDelegates, i).has(kDelegateId)) return nameless(p, "delegate", i);
    }
  }
  return {};
}

bool relies_on_delegates(std::span<const std::byte> program) {
  const FlatTable root = FlatTable::root(program);
  for (std::size_t p = 0; p < root.count(kProgramPlans); ++p) {
    const FlatTable plan = root.table(kProgramPlans, p);
    std::size_t instructions = 0;
    for (std::size_t i = 0; i < plan.count(kPlanChains); ++i)
      instructions += plan.table(kPlanChains, i).count(kChainInstructions);
    if (plan.count(kPlanDelegates) * kFew > instructions) return true;
  }
  return false;
}

}  // namespace polystate
