#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that combine elements with those at the places that an index gives.
namespace polystate {
namespace {

struct PerOperand {
  std::int64_t self = 0;
  std::int64_t source = 0;
  std::int64_t index = 0;
};

// A lane of each operand: its first element, and the distance of its elements.
struct OperandLanes {
  PerOperand start;
  PerOperand step;
};

// Which elements of a source go where: those of one of its lanes go into one lane of `self`, to the
// places that a lane of the index has, and those of another lane into another.
struct Scatter {
  TensorArgument self;
  TensorArgument source;
  TensorArgument index_tensor;
  std::vector<std::int64_t> wide_index;  // of an index of int32
  // How much of the source is used: an operand of no dimensions counts as one of one element.
  std::vector<std::int64_t> sizes;
  int dimension = 0;             // that the index counts along
  bool index_is_shared = false;  // one lane of it for all
  Reduction reduction = Reduction::kSum;
  bool includes_self = true;
  // What is rounded to the elements' type at each step, not at the end alone.
  bool rounds_totals = false;
  bool rounds_counts = false;

  [[nodiscard]] std::span<const std::int64_t> index() const {
    if (index_tensor.dtype() != DType::kInt64) return wide_index;
    return elements<const std::int64_t>(index_tensor);
  }

  [[nodiscard]] std::int64_t length() const { return sizes[static_cast<std::size_t>(dimension)]; }

  [[nodiscard]] std::int64_t lane_count() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i != static_cast<std::size_t>(dimension)) count *= sizes[i];
    }
    return count;
  }

  [[nodiscard]] OperandLanes lanes(std::int64_t number) const;
};

std::int64_t size_of_dimension(const TensorArgument& tensor, int dimension) {
  return tensor.rank() == 0 ? 1 : tensor.size(dimension);
}

OperandLanes Scatter::lanes(std::int64_t number) const {
  OperandLanes lanes;
  PerOperand stride{.self = 1, .source = 1, .index = 1};
  for (int i = static_cast<int>(sizes.size()) - 1; i >= 0; --i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (i == dimension) {
      lanes.step = stride;
    } else {
      const std::int64_t place = number % size;
      number /= size;
      lanes.start.self += place * stride.self;
      lanes.start.source += place * stride.source;
      lanes.start.index += place * stride.index;
    }
    stride.self *= size_of_dimension(self, i);
    stride.source *= size_of_dimension(source, i);
    stride.index *= size;
  }
  if (index_is_shared) {
    lanes.start.index = 0;
    lanes.step.index = 1;
  }
  return lanes;
}

// What is combined, as numbers of one type.
template <typename Number>
struct Combining {
  const Scatter& scatter;
  const Number* source;
  std::span<Number> totals;  // self's elements at first
  // How many were combined in each, of a mean, which PyTorch counts in the elements' type.
  std::span<Number> counts;
};

// One lane.
template <typename Combine, typename Number>
void combine_lane(const Combining<Number>& combining, const OperandLanes& lanes) {
  const Scatter& scatter = combining.scatter;
  const DType dtype = scatter.self.dtype();
  const std::int64_t* const index = scatter.index().data() + lanes.start.index;
  const auto each = [&](Number* numbers, const auto& next) {
    for (std::int64_t i = 0; i < scatter.length(); ++i) {
      Number& number = numbers[lanes.start.self + index[i * lanes.step.index] * lanes.step.self];
      number = next(number, i);
    }
  };
  Number* const totals = combining.totals.data();
  if (!scatter.includes_self) {
    each(totals, [](Number, std::int64_t) { return Combine::template nothing<Number>(); });
  }
  const Number* const source = combining.source + lanes.start.source;
  if (scatter.rounds_totals) {
    each(totals, [&](Number total, std::int64_t i) {
      return rounded_to(dtype, Combine::of(total, source[i * lanes.step.source]));
    });
  } else {
    each(totals, [&](Number total, std::int64_t i) {
      return Combine::of(total, source[i * lanes.step.source]);
    });
  }
  if (combining.counts.empty()) return;
  each(combining.counts.data(), [&](Number count, std::int64_t) {
    const Number next = Plus::of(count, Number{1});
    return scatter.rounds_counts ? rounded_to(dtype, next) : next;
  });
}

template <typename Number>
void combine_all(const Combining<Number>& combining) {
  const Scatter& scatter = combining.scatter;
  const bool of_bools = scatter.self.dtype() == DType::kBool;
  with_combination(scatter.reduction, of_bools, [&]<typename Combine>() {
    for_each_range(scatter.lane_count(), scatter.length(),
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t lane = first; lane < last; ++lane) {
                       combine_lane<Combine>(combining, scatter.lanes(lane));
                     }
                   });
  });
}

// Sums as means. PyTorch rounds sums and counts of 16-bit floats before it divides them, and those
// of small integers wrap.
template <typename Number>
void divide(const Scatter& scatter, std::span<Number> totals, std::span<Number> counts) {
  const DType dtype = scatter.self.dtype();
  std::vector<std::byte> elements(totals.size() * size_of(dtype));
  const auto count = static_cast<std::int64_t>(totals.size());
  for (const std::span<Number> each : {totals, counts}) {
    WriteAs<Number>(elements.data(), dtype).put(0, each.data(), count);
    ReadAs<Number>(elements.data(), dtype).read(0, count, each.data());
  }
  std::ranges::transform(totals, counts, totals.begin(), mean_of<Number>);
}

template <typename Number>
void combine(const Scatter& scatter, const TensorArgument& out) {
  const std::int64_t count = out.element_count();
  const NumbersOf<Number> source(scatter.source);
  const WriteAs<Number> results(out);
  std::vector<Number> buffer(results.converts() ? static_cast<std::size_t>(count) : 0);
  const std::span<Number> totals(results.room(0, buffer.data()), static_cast<std::size_t>(count));
  ReadAs<Number>(scatter.self).read(0, count, totals.data());
  const bool is_mean = scatter.reduction == Reduction::kMean;
  std::vector<Number> counts(is_mean ? totals.size() : 0,
                             static_cast<Number>(scatter.includes_self ? 1 : 0));
  combine_all(Combining<Number>{
      .scatter = scatter, .source = source.data(), .totals = totals, .counts = counts});
  if (is_mean) divide<Number>(scatter, totals, counts);
  results.put(0, totals.data(), count);
}

Status check(const Scatter& scatter) {
  if (scatter.self.dtype() != scatter.source.dtype()) {
    return Error{ErrorCode::kEngine, "self and source differ in their type"};
  }
  for (int i = 0; i < static_cast<int>(scatter.sizes.size()); ++i) {
    const std::int64_t size = scatter.sizes[static_cast<std::size_t>(i)];
    if (size > size_of_dimension(scatter.source, i) ||
        (i != scatter.dimension && size > size_of_dimension(scatter.self, i))) {
      return Error{ErrorCode::kEngine, "the index has " + std::to_string(size) +
                                           " elements in dimension " + std::to_string(i) +
                                           ", more than another operand"};
    }
  }
  return require_places(scatter.index(), size_of_dimension(scatter.self, scatter.dimension));
}

// The arguments that all have in common: self, dim, index, source, then how to combine them.
Result<Scatter> scatter_of(ProgramArguments& arguments) {
  const std::int64_t dimension = arguments.integer(1);
  const TensorArgument index = arguments.tensor(2);
  Scatter scatter;
  scatter.self = arguments.tensor(0);
  scatter.source = arguments.tensor(3);
  const std::string_view name = arguments.text(4);
  scatter.includes_self = arguments.boolean(5);
  if (!arguments.status()) return arguments.status().error();
  if (const Status is = require_row_major(scatter.self, "self"); !is) return is.error();
  if (const Status is = require_row_major(scatter.source, "source"); !is) return is.error();
  if (const Status is = require_row_major(index, "index"); !is) return is.error();
  if (index.dtype() != DType::kInt64 && index.dtype() != DType::kInt32) {
    return Error{ErrorCode::kEngine, "the index has no integers"};
  }
  const Result<Reduction> reduction = reduction_named(name);
  if (!reduction) return reduction.error();
  const Result<std::size_t> place = resolve_dimension(scatter.self.shape(), dimension);
  if (!place) return place.error();
  scatter.index_tensor = index;
  if (index.dtype() != DType::kInt64) scatter.wide_index = converted<std::int64_t>(index);
  scatter.sizes.assign(index.shape().begin(), index.shape().end());
  if (scatter.sizes.empty()) scatter.sizes.push_back(1);
  scatter.dimension = static_cast<int>(*place);
  scatter.reduction = *reduction;
  return scatter;
}

Status run_scatter(ProgramArguments& arguments, const Scatter& scatter) {
  if (Status checked = check(scatter); !checked) return checked;
  const auto out = arguments.result(scatter.self.dtype(), scatter.self.shape());
  if (!out) return out.error();
  if (scatter.wide_index.empty() && overlap(scatter.index_tensor, *out)) {
    return Error{ErrorCode::kEngine, "out lies where the index does"};
  }
  if (overlap(scatter.source, *out)) {
    return Error{ErrorCode::kEngine, "out lies where the source does"};
  }
  with_number_type(scatter.self.dtype(),
                   [&]<typename Number>() { combine<Number>(scatter, *out); });
  return {};
}

struct ScatterReduce {
  static constexpr OperatorSchema kSchema{
      "aten::scatter_reduce.two_out(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
      "bool include_self=True, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const Result<Scatter> scatter = scatter_of(arguments);
    if (!scatter) return scatter.error();
    const auto rank = static_cast<int>(scatter->sizes.size());
    // An index without elements may have any number of dimensions.
    if (scatter->index().empty()) return copy_self(arguments, scatter->self);
    if (rank != std::max(scatter->self.rank(), 1) || rank != std::max(scatter->source.rank(), 1)) {
      return Error{ErrorCode::kEngine, "operands differ in their number of dimensions"};
    }
    return run_scatter(arguments, *scatter);
  }

 private:
  static Status copy_self(ProgramArguments& arguments, const TensorArgument& self) {
    const auto out = arguments.result(self.dtype(), self.shape());
    if (!out) return out.error();
    const std::size_t bytes =
        static_cast<std::size_t>(self.element_count()) * size_of(self.dtype());
    std::copy_n(self.bytes(), bytes, out->bytes());
    return {};
  }
};

struct IndexReduce {
  static constexpr OperatorSchema kSchema{
      "aten::index_reduce.out(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
      "bool include_self=True, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    Result<Scatter> scatter = scatter_of(arguments);
    if (!scatter) return scatter.error();
    const int rank = std::max(scatter->self.rank(), 1);
    const auto count = static_cast<std::int64_t>(scatter->index().size());
    if (scatter->sizes.size() != 1 || rank != std::max(scatter->source.rank(), 1)) {
      return Error{ErrorCode::kEngine, "the index is no list, or the ranks differ"};
    }
    // Each of its numbers stands for a slice of the source.
    scatter->index_is_shared = true;
    scatter->rounds_totals = true;
    // PyTorch counts by index_add. Along the first and the last of several dimensions, with an
    // index of int64, that calls scatter_add, which rounds a sum once, at its end. Otherwise it
    // rounds each addition.
    const bool is_at_an_end = scatter->dimension == 0 || scatter->dimension == rank - 1;
    scatter->rounds_counts =
        rank == 1 || !is_at_an_end || scatter->index_tensor.dtype() != DType::kInt64;
    scatter->sizes.clear();
    for (int i = 0; i < rank; ++i) {
      const std::int64_t size =
          i == scatter->dimension ? count : size_of_dimension(scatter->self, i);
      scatter->sizes.push_back(size);
      if (size_of_dimension(scatter->source, i) != size) {
        return Error{ErrorCode::kEngine, "the source does not have the shape of self's slices"};
      }
    }
    return run_scatter(arguments, *scatter);
  }
};

}  // namespace

std::span<const ListedOperator> scatter_operators() { return listed<IndexReduce, ScatterReduce>(); }

}  // namespace polystate
