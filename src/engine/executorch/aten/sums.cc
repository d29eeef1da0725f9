#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/offsets.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Sums, products, means, largest and smallest elements over dimensions. ExecuTorch's own add in
// float32, also elements of float64, one after another, so that long sums are off by more than
// PyTorch's; its products take 15 times as long, and its largest and smallest elements end the
// process where a tensor has none.
namespace polystate {
namespace {

// Results that are computed at a time where their elements lie side by side.
constexpr std::int64_t kColumns = 256;

// How numbers of a type are combined, and what in.
template <typename Combination, typename Element, typename Total>
struct Way {
  using Combine = Combination;
  using Number = Element;
  using Sum = Total;
};

template <typename Number>
using Sums = Way<Plus, Number, Accumulated<Number>>;
template <typename Combine, typename Number>
using InTheirType = Way<Combine, Number, Number>;

// Whether a few numbers are added in their own type first. In the wider one, which half as many of
// fit a vector, they would take twice as long; a sum of eight is as exact as PyTorch's.
template <typename Way>
constexpr bool kAddsFewFirst = !std::is_same_v<typename Way::Number, typename Way::Sum>;

// Rows that are combined at a time with results, which are read and written once for all of them.
constexpr std::size_t kRows = 8;

template <typename Way>
using RowPointers = std::array<const typename Way::Number*, kRows>;

// Combines what lies side by side in rows with as many results.
template <typename Way>
void add_rows(typename Way::Sum* sums, const RowPointers<Way>& rows, std::int64_t count) {
  using Combine = typename Way::Combine;
  const auto of_two = [&rows](std::size_t first, std::int64_t i) {
    return Combine::of(rows[first][i], rows[first + 1][i]);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const auto half = Combine::of(of_two(0, i), of_two(2, i));
    const auto other = Combine::of(of_two(4, i), of_two(6, i));
    sums[i] = Combine::of(sums[i], static_cast<typename Way::Sum>(Combine::of(half, other)));
  }
}

template <typename Way>
void add_row(typename Way::Sum* sums, const typename Way::Number* row, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] = Way::Combine::of(sums[i], static_cast<typename Way::Sum>(row[i]));
  }
}

// Results that are computed side by side from numbers that lie one after another, as many as
// vectors take.
constexpr std::int64_t kLanes = 32;

template <typename Way>
using SumsOfLanes = std::array<typename Way::Sum, kLanes>;

// Combines a run of numbers with what lanes have, some numbers in their own type first; returns how
// many of them.
template <typename Way>
std::int64_t add_few_first(SumsOfLanes<Way>& lanes, const typename Way::Number* values,
                           std::int64_t count) {
  constexpr auto kAtOnce = static_cast<std::int64_t>(kRows) * kLanes;
  std::int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    RowPointers<Way> rows{};
    for (std::size_t row = 0; row < kRows; ++row) {
      rows[row] = values + i + static_cast<std::int64_t>(row) * kLanes;
    }
    add_rows<Way>(lanes.data(), rows, kLanes);
  }
  if (i + kLanes > count) return i;
  std::array<typename Way::Number, kLanes> few;
  std::copy_n(values + i, kLanes, few.data());
  for (i += kLanes; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      few[lane] = Way::Combine::of(few[lane], values[i + static_cast<std::int64_t>(lane)]);
    }
  }
  add_row<Way>(lanes.data(), few.data(), kLanes);
  return i;
}

// The same by two groups of lanes, of which neither waits for the other.
template <typename Way>
std::int64_t add_by_turns(SumsOfLanes<Way>& lanes, const typename Way::Number* values,
                          std::int64_t count) {
  SumsOfLanes<Way> others = lanes;
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    add_row<Way>(lanes.data(), values + i, kLanes);
    add_row<Way>(others.data(), values + i + kLanes, kLanes);
  }
  using Sum = typename Way::Sum;
  add_row<InTheirType<typename Way::Combine, Sum>>(lanes.data(), others.data(), kLanes);
  return i;
}

template <typename Way>
typename Way::Sum combined_lanes(SumsOfLanes<Way>& lanes) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Way::Combine::of(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Combines numbers that lie one after another.
template <typename Way>
typename Way::Sum combined_run(const typename Way::Number* values, std::int64_t count) {
  using Sum = typename Way::Sum;
  using Combine = typename Way::Combine;
  SumsOfLanes<Way> lanes;
  lanes.fill(Combine::template nothing<Sum>());
  std::int64_t i = 0;
  if constexpr (kAddsFewFirst<Way>) {
    i = add_few_first<Way>(lanes, values, count);
  } else {
    i = add_by_turns<Way>(lanes, values, count);
  }
  for (; i + kLanes <= count; i += kLanes) add_row<Way>(lanes.data(), values + i, kLanes);
  Sum rest = Combine::template nothing<Sum>();
  for (; i < count; ++i) rest = Combine::of(rest, static_cast<Sum>(values[i]));
  return count < kLanes ? rest : Combine::of(combined_lanes<Way>(lanes), rest);
}

// Combines each of `count` runs of `size` numbers, which lie one after another.
template <typename Way>
void reduce_each(const typename Way::Number* values, std::int64_t size, std::int64_t count,
                 typename Way::Sum* sums) {
  using Sum = typename Way::Sum;
  for (std::int64_t run = 0; run < count; ++run, values += size) {
    Sum sum = Way::Combine::template nothing<Sum>();
    for (std::int64_t i = 0; i < size; ++i) {
      sum = Way::Combine::of(sum, static_cast<Sum>(values[i]));
    }
    sums[run] = sum;
  }
}

// Where results go: sums, or means of `each` elements.
template <typename Sum>
class Results {
 public:
  explicit Results(const TensorArgument& out, std::optional<std::int64_t> each = {})
      : results_(out), each_(each), is_double_(out.dtype() == DType::kFloat64) {}

  // Writes `count` results from a place on, and may change what `sums` has.
  void set(std::int64_t place, Sum* sums, std::int64_t count) const {
    if (each_) {
      is_double_ ? divide<double>(*each_, sums, count) : divide<float>(*each_, sums, count);
    }
    results_.put(place, sums, count);
  }

 private:
  // PyTorch divides what is a float already: the mean of a sum that is too large is infinite.
  template <typename Value>
  static void divide(std::int64_t each, Sum* sums, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] = static_cast<Sum>(static_cast<Value>(sums[i]) / static_cast<Value>(each));
    }
  }

  WriteAs<Sum> results_;
  std::optional<std::int64_t> each_;
  bool is_double_;
};

// Results whose elements lie in runs of `run`.
template <typename Way>
void reduce_runs(const ReducedElements& operands, std::int64_t run,
                 const ReadAs<typename Way::Number>& values,
                 const Results<typename Way::Sum>& results) {
  using Combine = typename Way::Combine;
  using Sum = typename Way::Sum;
  const auto combined = vectorised<&combined_run<Way>>(best_instruction_set());
  const std::int64_t runs = operands.reduced.count();
  const auto result_at = [&](std::int64_t place) {
    Sum sum = Combine::template nothing<Sum>();
    const std::int64_t start = operands.kept.at(place);
    for (std::int64_t i = 0; i < runs; ++i) {
      values.for_each_part(start + operands.reduced.at(i), run,
                           [&](const typename Way::Number* numbers, std::int64_t some) {
                             sum = Combine::of(sum, combined(numbers, some));
                           });
    }
    return sum;
  };
  constexpr std::int64_t kAtOnce = 64;
  for_each_range(operands.kept.count(), runs * run, [&](std::int64_t first, std::int64_t last) {
    std::array<Sum, static_cast<std::size_t>(kAtOnce)> sums;
    for (; first < last; first += kAtOnce) {
      const std::int64_t some = std::min(kAtOnce, last - first);
      for (std::int64_t i = 0; i < some; ++i) sums[i] = result_at(first + i);
      results.set(first, sums.data(), some);
    }
  });
}

// Results of one run each, shorter than there are lanes. All these runs lie one after another.
template <typename Way>
void reduce_short_runs(std::int64_t count, std::int64_t run,
                       const ReadAs<typename Way::Number>& values,
                       const Results<typename Way::Sum>& results) {
  const auto reduce_all = vectorised<&reduce_each<Way>>(best_instruction_set());
  constexpr std::int64_t kAtOnce = kNumbersAtOnce / kLanes;
  for_each_range(count, run, [&](std::int64_t first, std::int64_t last) {
    std::array<typename Way::Number, kNumbersAtOnce> buffer;
    std::array<typename Way::Sum, static_cast<std::size_t>(kAtOnce)> sums;
    for (; first < last; first += kAtOnce) {
      const std::int64_t some = std::min(kAtOnce, last - first);
      reduce_all(values.at(first * run, some * run, buffer.data()), run, some, sums.data());
      results.set(first, sums.data(), some);
    }
  });
}

// Some results whose elements lie side by side.
template <typename Way>
class Columns {
 public:
  using Number = typename Way::Number;
  using Sum = typename Way::Sum;

  Columns() { sums_.fill(Way::Combine::template nothing<Sum>()); }

  // Combines rows of `count` elements each, which begin at offsets from `first`.
  void add(const Offsets& offsets, const ReadAs<Number>& values, std::int64_t first,
           std::int64_t count) {
    const auto row_at = [&](std::int64_t i, std::size_t buffer) {
      return values.at(first + offsets.at(i), count, buffers_.data() + buffer * kColumns);
    };
    std::int64_t i = 0;
    for (; i + kRowsAtOnce <= offsets.count(); i += kRowsAtOnce) {
      RowPointers<Way> rows{};
      for (std::size_t row = 0; row < kRows; ++row) {
        rows[row] = row_at(i + static_cast<std::int64_t>(row), row);
      }
      add_rows_(sums_.data(), rows, count);
    }
    for (; i < offsets.count(); ++i) add_row_(sums_.data(), row_at(i, 0), count);
  }

  [[nodiscard]] Sum* sums() { return sums_.data(); }

 private:
  static constexpr auto kRowsAtOnce = static_cast<std::int64_t>(kRows);

  std::array<Sum, kColumns> sums_;
  std::array<Number, kRows * kColumns> buffers_;  // of rows that are converted
  InstructionSet set_ = best_instruction_set();
  decltype(&add_rows<Way>) add_rows_ = vectorised<&add_rows<Way>>(set_);
  decltype(&add_row<Way>) add_row_ = vectorised<&add_row<Way>>(set_);
};

// Results whose elements lie side by side, some of them at a time.
template <typename Way>
void reduce_columns(ReducedElements operands, const ReadAs<typename Way::Number>& values,
                    const Results<typename Way::Sum>& results) {
  const std::int64_t each = operands.reduced.count();
  const std::int64_t width = operands.kept.take_run();
  const std::int64_t pieces = (width + kColumns - 1) / kColumns;
  for_each_range(operands.kept.count() * pieces, each * kColumns,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t piece = first; piece < last; ++piece) {
                     const std::int64_t row = piece / pieces;
                     const std::int64_t column = piece % pieces * kColumns;
                     const std::int64_t count = std::min(kColumns, width - column);
                     Columns<Way> columns;
                     columns.add(operands.reduced, values, operands.kept.at(row) + column, count);
                     results.set(row * width + column, columns.sums(), count);
                   }
                 });
}

template <typename Way>
void reduce(ReducedElements operands, const ReadAs<typename Way::Number>& values,
            const Results<typename Way::Sum>& results) {
  const std::int64_t run = operands.reduced.take_run();
  if (operands.reduced.count() == 1 && run < kLanes) {
    reduce_short_runs<Way>(operands.kept.count(), run, values, results);
  } else if (run > 1 || operands.reduced.count() <= 1) {
    reduce_runs<Way>(operands, run, values, results);
  } else {
    reduce_columns<Way>(std::move(operands), values, results);
  }
}

// Calls `work.operator()<Number>()` with what sums and products of a type are computed from.
template <typename Work>
void with_summed_type(DType dtype, const Work& work) {
  if (dtype == DType::kFloat64) return work.template operator()<double>();
  if (is_float(dtype)) return work.template operator()<float>();
  work.template operator()<std::int64_t>();
}

// Whether elements are converted to the type of the results before they are read as numbers. What
// an integer that is too large has of its low bits is the same either way.
bool converts_first(DType dtype, DType of_results, Reduction reduction) {
  if (dtype == of_results) return false;
  if (of_results == DType::kBool) return true;
  if (!is_float(of_results)) return is_float(dtype);
  // PyTorch rounds a mean to 16 bits at the end alone.
  return size_of(of_results) == 2 && reduction != Reduction::kMean;
}

template <typename Number>
void multiply(const ReductionCall& call, const ReadAs<Number>& values) {
  const Results<Number> results(call.out);
  if constexpr (std::is_same_v<Number, float>) {
    if (call.out.dtype() == DType::kFloat16) {
      reduce<InTheirType<TimesRoundedTo<Float16>, float>>(call.operands, values, results);
      return;
    }
    if (call.out.dtype() == DType::kBFloat16) {
      reduce<InTheirType<TimesRoundedTo<BFloat16>, float>>(call.operands, values, results);
      return;
    }
  }
  reduce<InTheirType<Times, Number>>(call.operands, values, results);
}

template <typename Number>
void combine(const ReductionCall& call, const ReadAs<Number>& values, Reduction reduction) {
  if (reduction == Reduction::kProduct) {
    multiply(call, values);
    return;
  }
  std::optional<std::int64_t> each;
  if (reduction == Reduction::kMean) each = call.operands.reduced.count();
  reduce<Sums<Number>>(call.operands, values, Results<Accumulated<Number>>(call.out, each));
}

// A sum, a product or a mean.
Status combined_elements(const Result<ReductionCall>& call, Reduction reduction) {
  if (!call) return call.error();
  const DType type = call->out.dtype();
  if (reduction == Reduction::kMean && !is_float(type)) {
    return Error{ErrorCode::kEngine, "a mean of integers"};
  }
  with_summed_type(type, [&]<typename Number>() {
    if (!converts_first(call->self.dtype(), type, reduction)) {
      combine(*call, ReadAs<Number>(call->self), reduction);
      return;
    }
    // Of bools this is "or" and "and": whether a sum or a product of bools is not zero.
    const std::vector<std::byte> values = elements_as(type, call->self);
    combine(*call, ReadAs<Number>(values.data(), type), reduction);
  });
  return {};
}

// The arguments of PyTorch's operators: self, dim, keepdim, dtype, out.
Status combined_along_dimensions(ProgramArguments& arguments, Reduction reduction) {
  return combined_elements(reduction_call(arguments, arguments.optional_integers(1), 2, 4),
                           reduction);
}

template <typename Combine, typename Number>
void find_extremes(const ReductionCall& call) {
  reduce<InTheirType<Combine, Number>>(call.operands, ReadAs<Number>(call.self),
                                       Results<Number>(call.out));
}

// The arguments of PyTorch's operators: self, dim, keepdim, out.
template <typename Combine>
Status extreme_elements(ProgramArguments& arguments) {
  const Result<ReductionCall> call = reduction_call(arguments, arguments.integers(1), 2, 3);
  if (!call) return call.error();
  const DType type = call->self.dtype();
  if (type != call->out.dtype()) {
    return Error{ErrorCode::kEngine, "self and out differ in their type"};
  }
  if (call->operands.reduced.count() == 0) {
    return Error{ErrorCode::kEngine, "of no elements none is the largest or the smallest"};
  }
  with_number_type(type, [&]<typename Number>() { find_extremes<Combine, Number>(*call); });
  return {};
}

struct Sum {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return combined_along_dimensions(arguments, Reduction::kSum);
  }
};

struct Mean {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
      "dtype=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return combined_along_dimensions(arguments, Reduction::kMean);
  }
};

struct ProductOfAll {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return combined_elements(reduction_call(arguments, std::nullopt, std::nullopt, 2),
                             Reduction::kProduct);
  }
};

struct ProductAlong {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
      "dtype=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const std::vector<std::int64_t> dimension{arguments.integer(1)};
    return combined_elements(reduction_call(arguments, dimension, 2, 4), Reduction::kProduct);
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

std::span<const ListedOperator> sum_operators() {
  return listed<Amax, Amin, Mean, ProductOfAll, ProductAlong, Sum>();
}

}  // namespace polystate
