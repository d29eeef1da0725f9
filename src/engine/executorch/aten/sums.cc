#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/offsets.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// Sums, means, largest and smallest elements over dimensions. ExecuTorch's own add in float32, also
// elements of float64, one after another, so that long sums are off by more than PyTorch's; its
// largest and smallest elements end the process where a tensor has none.
namespace polystate {
namespace {

// Results that are computed at a time where their elements lie side by side.
constexpr std::int64_t kColumns = 256;

// How elements of a type are combined, and what in.
template <typename Combination, typename Total>
struct Way {
  using Combine = Combination;
  using Sum = Total;
};

// Whether a few elements are added in their own type first. In the wider one, which half as many of
// fit a vector, they would take twice as long; a sum of eight is as exact as PyTorch's.
template <typename Way, typename T>
constexpr bool kAddsFewFirst =
    std::is_same_v<T, float> && std::is_same_v<typename Way::Combine, Plus>;

// Elements that lie one after another: as many results side by side as vectors take.
template <typename Way, typename T>
typename Way::Sum reduce_run(const T* values, std::int64_t count) {
  using Combine = typename Way::Combine;
  using Sum = typename Way::Sum;
  constexpr std::int64_t kLanes = 32;
  std::array<Sum, kLanes> lanes;
  lanes.fill(Combine::template nothing<Sum>());
  const auto add = [&lanes](const T* block, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      Sum& sum = lanes[static_cast<std::size_t>(i)];
      sum = Combine::of(sum, static_cast<Sum>(block[i]));
    }
  };
  std::int64_t i = 0;
  if constexpr (kAddsFewFirst<Way, T>) {
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      std::array<T, kLanes> fours;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const T* const first = values + i + lane;
        fours[static_cast<std::size_t>(lane)] =
            (first[0] + first[kLanes]) + (first[2 * kLanes] + first[3 * kLanes]);
      }
      add(fours.data(), kLanes);
    }
  }
  for (; i + kLanes <= count; i += kLanes) add(values + i, kLanes);
  add(values + i, count - i);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Combine::of(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Rows that are combined at a time with results, which are read and written once for all of them.
constexpr std::size_t kRows = 8;

template <typename T>
using RowPointers = std::array<const T*, kRows>;

// Combines what lies side by side in rows with as many results.
template <typename Way, typename T>
void add_rows(typename Way::Sum* sums, const RowPointers<T>& rows, std::int64_t count) {
  using Combine = typename Way::Combine;
  using Sum = typename Way::Sum;
  using Part = std::conditional_t<kAddsFewFirst<Way, T>, T, Sum>;
  const auto of_two = [&rows](std::size_t first, std::int64_t i) {
    return Combine::of(static_cast<Part>(rows[first][i]), static_cast<Part>(rows[first + 1][i]));
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const Part half = Combine::of(of_two(0, i), of_two(2, i));
    const Part other = Combine::of(of_two(4, i), of_two(6, i));
    sums[i] = Combine::of(sums[i], static_cast<Sum>(Combine::of(half, other)));
  }
}

template <typename Way, typename T>
void add_row(typename Way::Sum* sums, const T* row, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] = Way::Combine::of(sums[i], static_cast<typename Way::Sum>(row[i]));
  }
}

// Results whose elements lie in runs of `run`.
template <typename Way, typename T, typename Finish>
void reduce_runs(const ReducedElements& operands, std::int64_t run, const T* values,
                 const Finish& finish) {
  using Sum = typename Way::Sum;
  const auto reduce = vectorised<&reduce_run<Way, T>>(best_instruction_set());
  const std::int64_t runs = operands.reduced.count();
  for_each_range(operands.kept.count(), runs * run, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t place = first; place < last; ++place) {
      const T* const of_result = values + operands.kept.at(place);
      Sum sum = Way::Combine::template nothing<Sum>();
      for (std::int64_t i = 0; i < runs; ++i) {
        sum = Way::Combine::of(sum, reduce(of_result + operands.reduced.at(i), run));
      }
      finish(place, sum);
    }
  });
}

// Some results whose elements lie side by side.
template <typename Way, typename T>
class Columns {
 public:
  Columns() { sums_.fill(Way::Combine::template nothing<typename Way::Sum>()); }

  // Combines the rows of `count` elements each that begin at offsets from `values`.
  void add(const Offsets& offsets, const T* values, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kRowsAtOnce <= offsets.count(); i += kRowsAtOnce) {
      RowPointers<T> rows{};
      for (std::size_t row = 0; row < kRows; ++row) {
        rows[row] = values + offsets.at(i + static_cast<std::int64_t>(row));
      }
      add_rows_(sums_.data(), rows, count);
    }
    for (; i < offsets.count(); ++i) add_row_(sums_.data(), values + offsets.at(i), count);
  }

  [[nodiscard]] typename Way::Sum of(std::int64_t column) const {
    return sums_[static_cast<std::size_t>(column)];
  }

 private:
  static constexpr auto kRowsAtOnce = static_cast<std::int64_t>(kRows);

  std::array<typename Way::Sum, kColumns> sums_;
  InstructionSet set_ = best_instruction_set();
  decltype(&add_rows<Way, T>) add_rows_ = vectorised<&add_rows<Way, T>>(set_);
  decltype(&add_row<Way, T>) add_row_ = vectorised<&add_row<Way, T>>(set_);
};

// Results whose elements lie side by side, some of them at a time.
template <typename Way, typename T, typename Finish>
void reduce_columns(ReducedElements operands, const T* values, const Finish& finish) {
  const std::int64_t each = operands.reduced.count();
  const std::int64_t width = operands.kept.take_run();
  const std::int64_t pieces = (width + kColumns - 1) / kColumns;
  for_each_range(operands.kept.count() * pieces, each * kColumns,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t piece = first; piece < last; ++piece) {
                     const std::int64_t row = piece / pieces;
                     const std::int64_t column = piece % pieces * kColumns;
                     const std::int64_t count = std::min(kColumns, width - column);
                     Columns<Way, T> columns;
                     columns.add(operands.reduced, values + operands.kept.at(row) + column, count);
                     for (std::int64_t i = 0; i < count; ++i) {
                       finish(row * width + column + i, columns.of(i));
                     }
                   }
                 });
}

// Calls `finish(place, sum)` for each result.
template <typename Way, typename T, typename Finish>
void reduce_all(ReducedElements operands, const T* values, const Finish& finish) {
  const std::int64_t run = operands.reduced.take_run();
  if (run > 1 || operands.reduced.count() <= 1) {
    reduce_runs<Way>(operands, run, values, finish);
  } else {
    reduce_columns<Way>(std::move(operands), values, finish);
  }
}

// Bytes of 0 and 1: whether an element of a tensor is not zero.
std::vector<std::uint8_t> truths(const TensorArgument& tensor) {
  return with_element_type(tensor.dtype(), [&]<typename From>() {
    std::vector<std::uint8_t> values;
    values.reserve(static_cast<std::size_t>(tensor.element_count()));
    for (const From x : elements<const From>(tensor)) values.push_back(x != From{0} ? 1 : 0);
    return values;
  });
}

// The elements in the type of the results, where they lie or in a copy.
template <typename Way, typename T, typename Finish>
void reduce(const ReductionCall& call, const Finish& finish) {
  if (call.self.dtype() == call.out.dtype()) {
    reduce_all<Way>(call.operands, elements<const T>(call.self).data(), finish);
  } else if constexpr (std::is_same_v<T, bool>) {
    reduce_all<Way>(call.operands, truths(call.self).data(), finish);
  } else {
    reduce_all<Way>(call.operands, converted<T>(call.self).data(), finish);
  }
}

// The arguments of PyTorch's operators: self, dim, keepdim, dtype, out.
Status sum_dimensions(ProgramArguments& arguments, Reduction reduction) {
  const Result<ReductionCall> call =
      reduction_call(arguments, arguments.optional_integers(1), 2, 4);
  if (!call) return call.error();
  const std::int64_t each = call->operands.reduced.count();
  return with_element_type(call->out.dtype(), [&]<typename T>() -> Status {
    if constexpr (!kIsFloat<T>) {
      if (reduction == Reduction::kMean) return Error{ErrorCode::kEngine, "a mean of integers"};
    }
    using Sum = Accumulated<T>;
    const std::span<T> results = elements<T>(call->out);
    const auto finish = [&](std::int64_t place, Sum sum) {
      // PyTorch divides what is a float already: the mean of a sum that is too large is infinite.
      if constexpr (kIsFloat<T>) {
        if (reduction == Reduction::kMean) {
          sum = static_cast<Sum>(static_cast<Computed<T>>(sum) / static_cast<Computed<T>>(each));
        }
      }
      results[static_cast<std::size_t>(place)] = static_cast<T>(sum);
    };
    // PyTorch rounds a mean to 16 bits at the end alone.
    if constexpr (kIsHalf<T>) {
      if (reduction == Reduction::kMean && call->self.dtype() != call->out.dtype()) {
        reduce_all<Way<Plus, Sum>>(call->operands, converted<float>(call->self).data(), finish);
        return {};
      }
    }
    reduce<Way<Plus, Sum>, T>(*call, finish);
    return {};
  });
}

// The arguments of PyTorch's operators: self, dim, keepdim, out.
template <typename Combine>
Status extreme_elements(ProgramArguments& arguments) {
  const Result<ReductionCall> call = reduction_call(arguments, arguments.integers(1), 2, 3);
  if (!call) return call.error();
  if (call->self.dtype() != call->out.dtype()) {
    return Error{ErrorCode::kEngine, "self and out differ in their type"};
  }
  if (call->operands.reduced.count() == 0) {
    return Error{ErrorCode::kEngine, "of no elements none is the largest or the smallest"};
  }
  with_element_type(call->out.dtype(), [&]<typename T>() {
    using Extreme = Combined<T>;
    const std::span<T> results = elements<T>(call->out);
    reduce<Way<Combine, Extreme>, T>(*call, [&](std::int64_t place, Extreme found) {
      results[static_cast<std::size_t>(place)] = static_cast<T>(found);
    });
  });
  return {};
}

struct Sum {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return sum_dimensions(arguments, Reduction::kSum);
  }
};

struct Mean {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
      "dtype=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return sum_dimensions(arguments, Reduction::kMean);
  }
};

struct Amax {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return extreme_elements<Larger>(arguments); }
};

struct Amin {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return extreme_elements<Smaller>(arguments); }
};

}  // namespace

std::span<const ListedOperator> sum_operators() { return listed<Amax, Amin, Mean, Sum>(); }

}  // namespace polystate
