#include <cstddef>
#include <span>

#include "core/wrapping.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

// Sums, differences, products and quotients of elements.
namespace polystate {
namespace {

constexpr char kFormOfTwoAndFactor[] =
    ".out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
constexpr char kFormOfNumberAndFactor[] =
    ".Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)";

struct Sum : OfAllNumbers {
  static constexpr char kName[] = "add";
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T y) {
    return wrapping_sum(x, y);
  }
};

struct Difference : OfAllNumbers {
  static constexpr char kName[] = "sub";
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T y) {
    return wrapping_difference(x, y);
  }
};

// `Function` of the first operand and the second times a factor, which is rarely another than 1.
template <typename Function>
struct WithFactor : OfAllNumbers {
  template <typename T>
  static T of(T x, T y, T factor) {
    return Function::of(x, wrapping_product(factor, y));
  }
};

template <typename Function, const auto& kForm>
struct SumWithFactor : Named<kFasterNamespace, Function::kName, kForm> {
  static Status run(ProgramArguments& arguments) {
    constexpr std::size_t kFactor = 2;
    if (arguments.whole_number(kFactor) != 1) {
      return compute_elements<SumWithFactor::kSchema>(arguments,
                                                      faster_loops<WithFactor<Function>>());
    }
    Loops loops = faster_loops<Function>();
    loops.operand_count = kFactor;
    return compute_elements<SumWithFactor::kSchema>(arguments, loops);
  }
};

struct ProductOfTwo : OfAllNumbers {
  static constexpr char kName[] = "mul";
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T y) {
    return wrapping_product(x, y);
  }
};

struct Quotient : OfFloatsAlone {
  static constexpr char kName[] = "div";
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T y) {
    return x / y;
  }
};

template <typename Function, const auto& kForm>
using Scaled = Faster<Function, kForm, ScalarRule::kSecondKept>;

}  // namespace

std::span<const ListedOperator> arithmetic_operators() {
  return listed<SumWithFactor<Sum, kFormOfTwoAndFactor>, SumWithFactor<Sum, kFormOfNumberAndFactor>,
                SumWithFactor<Difference, kFormOfTwoAndFactor>,
                SumWithFactor<Difference, kFormOfNumberAndFactor>, Scaled<ProductOfTwo, kFormOfTwo>,
                Scaled<ProductOfTwo, kFormOfNumber>, Scaled<Quotient, kFormOfTwo>,
                Scaled<Quotient, kFormOfNumber>>();
}

}  // namespace polystate
