#include <cmath>
#include <cstdint>
#include <span>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

// Losses of each element, which an export reduces by other operators.
namespace polystate {
namespace {

// The schema's arguments are the input, the target, how the elements are reduced, and a number.
template <typename Function, const auto& kText>
struct LossOfElements {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) {
    const std::int64_t reduction = arguments.integer(2);
    if (!arguments.status()) return arguments.status();
    if (reduction != 0) return refused("'reduction' is not 'none'");
    return compute_elements<kSchema>(arguments, vectorised_loops<Function>());
  }
};

// Half of the square up to `delta`, and linear above.
struct HuberLoss {
  template <typename T>
  static T of(T x, T target, T, T delta) {
    const T distance = std::abs(x - target);
    const T bounded = distance < delta ? distance : delta;
    return bounded * (distance - T{0.5} * bounded);
  }
};

struct SmoothL1Loss {
  template <typename T>
  static T of(T x, T target, T, T beta) {
    const T distance = std::abs(x - target);
    const T near = T{0.5} * distance * distance / beta;
    return distance < beta ? near : distance - T{0.5} * beta;
  }
};

constexpr char kHuberLoss[] =
    "aten::huber_loss.out(Tensor self, Tensor target, int reduction=1, float delta=1., *, "
    "Tensor(a!) out) -> Tensor(a!)";
constexpr char kSmoothL1Loss[] =
    "aten::smooth_l1_loss.out(Tensor self, Tensor target, int reduction=1, float beta=1., *, "
    "Tensor(a!) out) -> Tensor(a!)";

}  // namespace

std::span<const ListedOperator> loss_operators() {
  return listed<LossOfElements<HuberLoss, kHuberLoss>,
                LossOfElements<SmoothL1Loss, kSmoothL1Loss>>();
}

}  // namespace polystate
