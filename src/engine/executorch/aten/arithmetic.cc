#include <span>

#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/operators/listed.h"

// Sums, differences, products and quotients of elements.
namespace polystate {
namespace {

constexpr char kFormOfNumber[] =
    ".Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kFormOfTwoAndFactor[] =
    ".out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
constexpr char kFormOfNumberAndFactor[] =
    ".Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)";

template <typename Function, const auto& kForm>
using Arithmetic = Faster<Function, kForm, Numbers::kKept>;

struct Sum : OfAllNumbers {
  static constexpr char kName[] = "add";
  template <typename T>
  static T of(T x, T y, T factor) {
    using U = Unbounded<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(factor) * static_cast<U>(y));
  }
};

struct Difference : OfAllNumbers {
  static constexpr char kName[] = "sub";
  template <typename T>
  static T of(T x, T y, T factor) {
    using U = Unbounded<T>;
    return static_cast<T>(static_cast<U>(x) - static_cast<U>(factor) * static_cast<U>(y));
  }
};

struct Product : OfAllNumbers {
  static constexpr char kName[] = "mul";
  template <typename T>
  static T of(T x, T y) {
    using U = Unbounded<T>;
    return static_cast<T>(static_cast<U>(x) * static_cast<U>(y));
  }
};

struct Quotient : OfFloatsAlone {
  static constexpr char kName[] = "div";
  template <typename T>
  static T of(T x, T y) {
    return x / y;
  }
};

}  // namespace

std::span<const ListedOperator> arithmetic_operators() {
  return listed<Arithmetic<Sum, kFormOfTwoAndFactor>, Arithmetic<Sum, kFormOfNumberAndFactor>,
                Arithmetic<Difference, kFormOfTwoAndFactor>,
                Arithmetic<Difference, kFormOfNumberAndFactor>, Arithmetic<Product, kFormOfTwo>,
                Arithmetic<Product, kFormOfNumber>, Arithmetic<Quotient, kFormOfTwo>,
                Arithmetic<Quotient, kFormOfNumber>>();
}

}  // namespace polystate
