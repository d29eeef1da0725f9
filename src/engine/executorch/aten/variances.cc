#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Variances over dimensions: first the means, then the squares of what elements differ from them.
// ExecuTorch's own adds in the type of the elements, one after another.
namespace polystate {
namespace {

// Results that are computed at a time where their elements lie side by side.
constexpr std::int64_t kColumns = 256;

// The sum of what `power` makes of each of some elements that lie one after another.
template <typename T, typename Power>
Accumulated<T> sum_of_run(const T* values, std::int64_t count, Accumulated<T> mean) {
  constexpr std::int64_t kLanes = 32;
  std::array<Accumulated<T>, kLanes> lanes{};
  const auto add = [&lanes, mean](const T* block, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      lanes[static_cast<std::size_t>(i)] += Power::of(static_cast<Accumulated<T>>(block[i]) - mean);
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add(values + i, kLanes);
  add(values + i, count - i);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// The same of elements of several results, which lie side by side, added to `sums`.
template <typename T, typename Power>
void add_row(const T* row, std::int64_t count, const Accumulated<T>* means, Accumulated<T>* sums) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += Power::of(static_cast<Accumulated<T>>(row[i]) - means[i]);
  }
}

struct Itself {
  template <typename V>
  static V of(V x) {
    return x;
  }
};

struct Square {
  template <typename V>
  static V of(V x) {
    return x * x;
  }
};

// Adds up what `Power` makes of each element less its result's mean, for each result.
template <typename Power, typename T>
std::vector<Accumulated<T>> sums_of(ReducedElements operands, const ReadAs<T>& values,
                                    const std::vector<Accumulated<T>>& means) {
  using Sum = Accumulated<T>;
  std::vector<Sum> sums(means.size());
  const std::int64_t run = operands.reduced.take_run();
  const std::int64_t runs = operands.reduced.count();
  if (run > 1 || runs <= 1) {
    const auto sum = vectorised<&sum_of_run<T, Power>>(best_instruction_set());
    for_each_range(std::ssize(means), runs * run, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t place = first; place < last; ++place) {
        const auto at = static_cast<std::size_t>(place);
        for (std::int64_t i = 0; i < runs; ++i) {
          values.for_each_part(operands.kept.at(place) + operands.reduced.at(i), run,
                               [&](const T* numbers, std::int64_t some) {
                                 sums[at] += sum(numbers, some, means[at]);
                               });
        }
      }
    });
    return sums;
  }
  const auto add = vectorised<&add_row<T, Power>>(best_instruction_set());
  const std::int64_t width = operands.kept.take_run();
  const std::int64_t pieces = (width + kColumns - 1) / kColumns;
  for_each_range(
      operands.kept.count() * pieces, runs * kColumns, [&](std::int64_t first, std::int64_t last) {
        std::array<T, kColumns> buffer;
        for (std::int64_t piece = first; piece < last; ++piece) {
          const std::int64_t row = piece / pieces;
          const std::int64_t column = piece % pieces * kColumns;
          const std::int64_t count = std::min(kColumns, width - column);
          const std::int64_t place = row * width + column;
          const std::int64_t of_row = operands.kept.at(row) + column;
          for (std::int64_t i = 0; i < runs; ++i) {
            const T* const found = values.at(of_row + operands.reduced.at(i), count, buffer.data());
            add(found, count, means.data() + place, sums.data() + place);
          }
        }
      });
  return sums;
}

template <typename Number>
void fill(const ReductionCall& call, double correction) {
  using Sum = Accumulated<Number>;
  const ReadAs<Number> values(call.self);
  const std::int64_t each = call.operands.reduced.count();
  // Of what elements differ from the first: sums of large elements would overflow.
  std::vector<Sum> means(static_cast<std::size_t>(call.out.element_count()));
  for (std::size_t i = 0; i < means.size() && each > 0; ++i) {
    Number first{};
    values.read(call.operands.kept.at(static_cast<std::int64_t>(i)), 1, &first);
    means[i] = static_cast<Sum>(first);
  }
  const std::vector<Sum> sums = sums_of<Itself>(call.operands, values, means);
  for (std::size_t i = 0; i < means.size(); ++i) means[i] += sums[i] / static_cast<Sum>(each);
  std::vector<Sum> results = sums_of<Square>(call.operands, values, means);
  const auto divisor = static_cast<Sum>(std::max(0.0, static_cast<double>(each) - correction));
  for (Sum& result : results) result /= divisor;
  WriteAs<Sum>(call.out).put(0, results.data(), std::ssize(results));
}

struct Variance {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? "
      "correction=None, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const double correction = arguments.optional_scalar(2).value_or(1.0);
    const Result<ReductionCall> call =
        reduction_call(arguments, arguments.optional_integers(1), 3, 4);
    if (!call) return call.error();
    if (call->self.dtype() != call->out.dtype()) {
      return Error{ErrorCode::kEngine, "self and out differ in their type"};
    }
    const DType type = call->self.dtype();
    if (!is_float(type)) return Error{ErrorCode::kEngine, "a variance of integers"};
    type == DType::kFloat64 ? fill<double>(*call, correction) : fill<float>(*call, correction);
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> variance_operators() { return listed<Variance>(); }

}  // namespace polystate
