#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/wrapping.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators whose results along a dimension depend on all elements before.
namespace polystate {
namespace {

// log(exp(a) + exp(b)). Which of two is NaN matters: std::min and std::max return the first then.
template <typename T>
T log_of_sum(T a, T b) {
  const T low = std::isnan(b) ? b : std::min(a, b);
  const T high = std::isnan(b) ? b : std::max(a, b);
  if (low == high && !std::isfinite(low)) return a;
  return std::log1p(std::exp(low - high)) + high;
}

// The first element is combined with `initial`, as every other with what is before it.
template <typename Combine>
Status accumulate(ProgramArguments& arguments, std::size_t out_index, double initial,
                  const Combine& combine) {
  const TensorArgument self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(1);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  const Result<TensorArgument> out = arguments.result_at(out_index, self.shape());
  if (!out) return out.error();
  with_element_type(out->dtype(), [&]<typename T>() {
    const std::span<T> results = elements<T>(*out);
    const auto scan = [&](const auto& values) {
      for_each_lane(*lanes, [&](std::int64_t start) {
        auto total = static_cast<Accumulated<T>>(initial);
        for (std::int64_t i = 0, at = start; i < lanes->size; ++i, at += lanes->inner) {
          const auto place = static_cast<std::size_t>(at);
          total = combine(total, static_cast<Accumulated<T>>(values[place]));
          results[place] = static_cast<T>(total);
        }
      });
    };
    if (self.dtype() == out->dtype()) {
      scan(elements<const T>(self));
    } else {
      scan(converted<T>(self));
    }
  });
  return {};
}

struct Cumprod {
  static constexpr OperatorSchema kSchema{
      "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return accumulate(arguments, 3, 1.0,
                      [](auto total, auto x) { return wrapping_product(total, x); });
  }
};

// ExecuTorch's own adds up in the result's type.
struct Cumsum {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return accumulate(arguments, 3, 0.0, [](auto total, auto x) { return wrapping_sum(total, x); });
  }
};

struct Logcumsumexp {
  static constexpr OperatorSchema kSchema{
      "aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    return accumulate(arguments, 2, kNothing, [](auto total, auto x) {
      if constexpr (std::is_floating_point_v<decltype(total)>) {
        return log_of_sum(x, total);
      } else {
        return total;  // PyTorch refuses integers
      }
    });
  }
};

// The largest so far, or the smallest, and where it was met last; NaN is met before any number.
template <typename IsBetter>
Status extremes(ProgramArguments& arguments, const IsBetter& is_better) {
  const TensorArgument self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(1);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  const Result<TensorArgument> values = arguments.result_at(2, self.dtype(), self.shape());
  if (!values) return values.error();
  const Result<TensorArgument> indices = arguments.result_at(3, DType::kInt64, self.shape());
  if (!indices) return indices.error();
  with_element_type(self.dtype(), [&]<typename T>() {
    const std::span<const T> from = elements<const T>(self);
    const std::span<T> best = elements<T>(*values);
    const std::span<std::int64_t> where = elements<std::int64_t>(*indices);
    for_each_lane(*lanes, [&](std::int64_t start) {
      if (lanes->size == 0) return;
      auto found = static_cast<Computed<T>>(from[static_cast<std::size_t>(start)]);
      std::int64_t place = 0;
      for (std::int64_t i = 0, at = start; i < lanes->size; ++i, at += lanes->inner) {
        const auto x = static_cast<Computed<T>>(from[static_cast<std::size_t>(at)]);
        if (x != x || (found == found && is_better(x, found))) {
          found = x;
          place = i;
        }
        best[static_cast<std::size_t>(at)] = static_cast<T>(found);
        where[static_cast<std::size_t>(at)] = place;
      }
    });
  });
  return {};
}

struct Cummax {
  static constexpr OperatorSchema kSchema{
      "aten::cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
      "(Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    return extremes(arguments, [](auto x, auto best) { return x >= best; });
  }
};

struct Cummin {
  static constexpr OperatorSchema kSchema{
      "aten::cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
      "(Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    return extremes(arguments, [](auto x, auto best) { return x <= best; });
  }
};

}  // namespace

std::span<const ListedOperator> scan_operators() {
  return listed<Cumsum, Cumprod, Cummax, Cummin, Logcumsumexp>();
}

}  // namespace polystate
