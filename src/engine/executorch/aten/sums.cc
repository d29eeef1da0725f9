#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

// Sums and means over dimensions. ExecuTorch's own add in float32, also elements of float64, one
// after another, so that long sums are off by more than PyTorch's.
namespace polystate {
namespace {

// Results that are summed at a time where their elements lie side by side.
constexpr std::int64_t kColumns = 256;

// A tensor's elements as a sum sees them: those of one result, and those of the others.
struct Summands {
  Offsets kept;
  Offsets summed;
  std::vector<std::int64_t> shape;  // of the results
};

// Which of a tensor's dimensions are summed; None or an empty list: all.
Result<std::vector<bool>> summed_dimensions(const TensorArgument& self,
                                            const std::optional<std::vector<std::int64_t>>& given) {
  const auto rank = static_cast<std::int64_t>(self.rank());
  const bool all = !given || given->empty();
  std::vector<bool> is_summed(static_cast<std::size_t>(rank), all);
  if (all) return is_summed;
  for (const std::int64_t dimension : *given) {
    if (rank == 0 && (dimension == 0 || dimension == -1)) continue;
    const std::int64_t wrapped = dimension < 0 ? dimension + rank : dimension;
    if (wrapped < 0 || wrapped >= rank || is_summed[static_cast<std::size_t>(wrapped)]) {
      return Error{ErrorCode::kEngine,
                   "dimension " + std::to_string(dimension) + " is none, or is there twice"};
    }
    is_summed[static_cast<std::size_t>(wrapped)] = true;
  }
  return is_summed;
}

Summands summands_of(const TensorArgument& self, const std::vector<bool>& is_summed,
                     bool keeps_dimensions) {
  Summands found;
  std::vector<std::int64_t> strides(is_summed.size());
  std::int64_t stride = 1;
  for (std::size_t i = is_summed.size(); i-- > 0; stride *= self.shape()[i]) strides[i] = stride;
  for (std::size_t i = 0; i < is_summed.size(); ++i) {
    const std::int64_t size = self.shape()[i];
    (is_summed[i] ? found.summed : found.kept).add(size, strides[i]);
    if (!is_summed[i]) {
      found.shape.push_back(size);
    } else if (keeps_dimensions) {
      found.shape.push_back(1);
    }
  }
  return found;
}

// The sum of elements that lie one after another: as many sums side by side as vectors take.
template <typename T>
Accumulated<T> sum_of_run(const T* values, std::int64_t count) {
  using Sum = Accumulated<T>;
  constexpr std::int64_t kLanes = 32;
  std::array<Sum, kLanes> lanes{};
  const auto add = [&lanes](const T* block, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      Sum& sum = lanes[static_cast<std::size_t>(i)];
      sum = Plus::of(sum, static_cast<Sum>(block[i]));
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add(values + i, kLanes);
  add(values + i, count - i);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Plus::of(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Rows that are added to sums at a time, which are read and written once for all of them.
constexpr std::size_t kRows = 8;

template <typename T>
using RowPointers = std::array<const T*, kRows>;

// Adds what lies side by side in rows to as many sums.
template <typename T>
void add_rows(Accumulated<T>* sums, const RowPointers<T>& rows, std::int64_t count) {
  using Sum = Accumulated<T>;
  const auto of_two = [&rows](std::size_t first, std::int64_t i) {
    return Plus::of(static_cast<Sum>(rows[first][i]), static_cast<Sum>(rows[first + 1][i]));
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const Sum half = Plus::of(of_two(0, i), of_two(2, i));
    const Sum other = Plus::of(of_two(4, i), of_two(6, i));
    sums[i] = Plus::of(sums[i], Plus::of(half, other));
  }
}

template <typename T>
void add_row(Accumulated<T>* sums, const T* row, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] = Plus::of(sums[i], static_cast<Accumulated<T>>(row[i]));
  }
}

// The sums of results whose elements lie in runs of `run`.
template <typename T, typename Finish>
void sum_runs(const Summands& summands, std::int64_t run, const T* values, const Finish& finish) {
  using Sum = Accumulated<T>;
  const auto sum_run = vectorised<&sum_of_run<T>>(best_instruction_set());
  const std::int64_t runs = summands.summed.count();
  for_each_range(summands.kept.count(), runs * run, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t place = first; place < last; ++place) {
      const T* const of_result = values + summands.kept.at(place);
      Sum sum{};
      for (std::int64_t i = 0; i < runs; ++i) {
        sum = Plus::of(sum, sum_run(of_result + summands.summed.at(i), run));
      }
      finish(place, sum);
    }
  });
}

// Sums of elements that lie side by side, of a part of the results.
template <typename T>
class ColumnSums {
 public:
  // Adds the rows of `count` elements each that begin at offsets from `values`.
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

  [[nodiscard]] Accumulated<T> of(std::int64_t column) const {
    return sums_[static_cast<std::size_t>(column)];
  }

 private:
  static constexpr auto kRowsAtOnce = static_cast<std::int64_t>(kRows);

  std::array<Accumulated<T>, kColumns> sums_{};
  InstructionSet set_ = best_instruction_set();
  decltype(&add_rows<T>) add_rows_ = vectorised<&add_rows<T>>(set_);
  decltype(&add_row<T>) add_row_ = vectorised<&add_row<T>>(set_);
};

// The sums of results whose elements lie side by side, some results at a time.
template <typename T, typename Finish>
void sum_columns(Summands summands, const T* values, const Finish& finish) {
  const std::int64_t each = summands.summed.count();
  const std::int64_t width = summands.kept.take_run();
  const std::int64_t pieces = (width + kColumns - 1) / kColumns;
  for_each_range(summands.kept.count() * pieces, each * kColumns,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t piece = first; piece < last; ++piece) {
                     const std::int64_t row = piece / pieces;
                     const std::int64_t column = piece % pieces * kColumns;
                     const std::int64_t count = std::min(kColumns, width - column);
                     ColumnSums<T> sums;
                     sums.add(summands.summed, values + summands.kept.at(row) + column, count);
                     for (std::int64_t i = 0; i < count; ++i) {
                       finish(row * width + column + i, sums.of(i));
                     }
                   }
                 });
}

// Calls `finish(place, sum)` for each result.
template <typename T, typename Finish>
void sum_all(Summands summands, const T* values, const Finish& finish) {
  const std::int64_t run = summands.summed.take_run();
  if (run > 1 || summands.summed.count() <= 1) {
    sum_runs(summands, run, values, finish);
  } else {
    sum_columns(std::move(summands), values, finish);
  }
}

// The arguments of PyTorch's operators: self, dim, keepdim, dtype, out.
Status sum_dimensions(ProgramArguments& arguments, Reduction reduction) {
  const TensorArgument self = arguments.tensor(0);
  const std::optional<std::vector<std::int64_t>> dimensions = arguments.optional_integers(1);
  const bool keeps_dimensions = arguments.boolean(2);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<std::vector<bool>> is_summed = summed_dimensions(self, dimensions);
  if (!is_summed) return is_summed.error();
  const Summands summands = summands_of(self, *is_summed, keeps_dimensions);
  const Result<TensorArgument> out = arguments.result_at(4, summands.shape);
  if (!out) return out.error();
  const std::int64_t each = summands.summed.count();
  return with_element_type(out->dtype(), [&]<typename T>() -> Status {
    if constexpr (!kIsFloat<T>) {
      if (reduction == Reduction::kMean) return Error{ErrorCode::kEngine, "a mean of integers"};
    }
    const std::span<T> results = elements<T>(*out);
    const auto finish = [&](std::int64_t place, Accumulated<T> sum) {
      if constexpr (kIsFloat<T>) {
        if (reduction == Reduction::kMean) sum /= static_cast<Accumulated<T>>(each);
      }
      results[static_cast<std::size_t>(place)] = static_cast<T>(sum);
    };
    if (self.dtype() == out->dtype()) {
      sum_all(summands, elements<const T>(self).data(), finish);
    } else {
      const auto values = converted<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(
          self);  // of bools there is no row in memory
      sum_all(summands, values.data(), [&](std::int64_t place, auto sum) {
        finish(place, static_cast<Accumulated<T>>(sum));
      });
    }
    return {};
  });
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

}  // namespace

std::span<const ListedOperator> sum_operators() { return listed<Sum, Mean>(); }

}  // namespace polystate
