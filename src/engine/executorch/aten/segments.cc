#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The parts that the elements along a dimension are cut into, for each place in the dimensions
// before it.
struct Segments {
  std::int64_t count = 0;             // for each place
  std::vector<std::int64_t> offsets;  // [places, count + 1]
};

struct Range {
  std::int64_t first;
  std::int64_t last;
};

Range segment(const Segments& segments, std::int64_t place, std::int64_t number) {
  const std::int64_t* const offsets =
      segments.offsets.data() + place * (segments.count + 1) + number;
  return {offsets[0], offsets[1]};
}

// Lengths that follow one another as offsets; negative ones make them fall.
std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> lengths, std::int64_t count) {
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (i % static_cast<std::size_t>(count) == 0) offsets.push_back(0);
    offsets.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(offsets.back()) +
                                                static_cast<std::uint64_t>(lengths[i])));
  }
  return offsets;
}

struct GivenSegments {
  TensorArgument values;  // along the last dimension
  bool are_lengths;
  bool may_leave_elements;  // behind the last length
};

Result<Segments> segments_of(const GivenSegments& all, const Lanes& lanes, int axis) {
  const TensorArgument& given = all.values;
  const bool are_lengths = all.are_lengths;
  if (given.rank() != axis + 1) {
    return Error{ErrorCode::kEngine,
                 "lengths or offsets have " + std::to_string(given.rank()) + " dimensions"};
  }
  if (given.dtype() != DType::kInt64 && given.dtype() != DType::kInt32) {
    return Error{ErrorCode::kEngine, "lengths or offsets are no integers"};
  }
  Segments segments;
  segments.count = given.size(axis) - (are_lengths ? 0 : 1);
  if (segments.count < 0) return Error{ErrorCode::kEngine, "there are no offsets"};
  segments.offsets = converted<std::int64_t>(given);
  if (are_lengths && segments.count == 0) {
    segments.offsets.assign(static_cast<std::size_t>(lanes.outer), 0);
  } else if (are_lengths) {
    segments.offsets = offsets_of(segments.offsets, segments.count);
  }
  if (std::ssize(segments.offsets) != lanes.outer * (segments.count + 1)) {
    return Error{ErrorCode::kEngine, "lengths or offsets do not have the data's first dimensions"};
  }
  for (std::int64_t place = 0; place < lanes.outer; ++place) {
    for (std::int64_t i = 0; i < segments.count; ++i) {
      const Range range = segment(segments, place, i);
      if (range.first < 0 || range.last < range.first || range.last > lanes.size) {
        return Error{ErrorCode::kEngine, "a segment from " + std::to_string(range.first) + " to " +
                                             std::to_string(range.last) + " of " +
                                             std::to_string(lanes.size) + " elements"};
      }
    }
    const std::int64_t end =
        segments.offsets[static_cast<std::size_t>(place * (segments.count + 1) + segments.count)];
    if (are_lengths && !all.may_leave_elements && end != lanes.size) {
      return Error{ErrorCode::kEngine, "lengths make " + std::to_string(end) + " of " +
                                           std::to_string(lanes.size) +
                                           " elements, and unsafe is False"};
    }
  }
  return segments;
}

struct Reduced {
  Reduction reduction;
  std::optional<double> initial;
};

// Data of 16 bits are rounded at each step, as in PyTorch.
template <typename Number, bool kRounds>
Number stepped(const TensorArgument& data, Number x) {
  if constexpr (kRounds) {
    return rounded_to(data.dtype(), x);
  } else {
    return x;
  }
}

template <typename Number, bool kRounds>
void reduce_segments(const TensorArgument& data, const Lanes& lanes, const Segments& segments,
                     const Reduced& how, const TensorArgument& out) {
  const NumbersOf<Number> numbers(data);
  const WriteAs<Number> results(out);
  const auto step = [&](Number x) { return stepped<Number, kRounds>(data, x); };
  const auto reduce = [&]<typename Combine>(const Number* x, std::int64_t count) {
    Number total =
        how.initial ? step(static_cast<Number>(*how.initial)) : Combine::template nothing<Number>();
    for (std::int64_t i = 0; i < count; ++i) total = step(Combine::of(total, x[i * lanes.inner]));
    if (how.reduction != Reduction::kMean) return total;
    if (count > 0) return mean_of(total, step(static_cast<Number>(count)));
    return how.initial ? total : std::numeric_limits<Number>::quiet_NaN();
  };
  std::int64_t result = 0;
  with_combination(how.reduction, /*of_bools=*/false, [&]<typename Combine>() {
    for (std::int64_t place = 0; place < lanes.outer; ++place) {
      for (std::int64_t i = 0; i < segments.count; ++i) {
        const Range range = segment(segments, place, i);
        const std::int64_t start = (place * lanes.size + range.first) * lanes.inner;
        for (std::int64_t inner = 0; inner < lanes.inner; ++inner) {
          const Number found = reduce.template operator()<Combine>(numbers.data() + start + inner,
                                                                   range.last - range.first);
          results.put(result++, &found, 1);
        }
      }
    }
  });
}

struct SegmentReduce {
  static constexpr OperatorSchema kSchema{
      "aten::segment_reduce.out(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
      "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None, "
      "Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument data = arguments.tensor(0);
    const std::optional<TensorArgument> lengths = arguments.optional_tensor(2);
    const std::optional<TensorArgument> offsets = arguments.optional_tensor(4);
    const std::int64_t dimension = arguments.integer(5);
    const bool may_leave_elements = arguments.boolean(6);
    const Result<Reduction> reduction = reduction_named(arguments.text(1));
    const std::optional<double> initial = arguments.optional_scalar(7);
    if (!arguments.status()) return arguments.status();
    if (!reduction) return reduction.error();
    // PyTorch takes lengths where there are both.
    const std::optional<TensorArgument>& given = lengths ? lengths : offsets;
    if (!given) return Error{ErrorCode::kEngine, "neither lengths nor offsets are given"};
    if (Status is = require_row_major(data, "data"); !is) return is;
    if (Status is = require_row_major(*given, "lengths or offsets"); !is) return is;
    if (data.rank() == 0) return Error{ErrorCode::kEngine, "the data have no dimensions"};
    const Result<Lanes> lanes = lanes_along(data, dimension);
    if (!lanes) return lanes.error();
    const auto axis = static_cast<int>(*resolve_dimension(data.shape(), dimension));
    const Result<Segments> segments = segments_of({.values = *given,
                                                   .are_lengths = lengths.has_value(),
                                                   .may_leave_elements = may_leave_elements},
                                                  *lanes, axis);
    if (!segments) return segments.error();
    std::vector<std::int64_t> shape(data.shape().begin(), data.shape().end());
    shape[static_cast<std::size_t>(axis)] = segments->count;
    const Result<TensorArgument> out = arguments.result(data.dtype(), shape);
    if (!out) return out.error();
    const Reduced how{.reduction = *reduction, .initial = initial};
    if (!is_float(data.dtype())) return Error{ErrorCode::kEngine, "the data are no floats"};
    if (data.dtype() == DType::kFloat64) {
      reduce_segments<double, false>(data, *lanes, *segments, how, *out);
    } else if (data.dtype() == DType::kFloat32) {
      reduce_segments<float, false>(data, *lanes, *segments, how, *out);
    } else {
      reduce_segments<float, true>(data, *lanes, *segments, how, *out);
    }
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> segment_operators() { return listed<SegmentReduce>(); }

}  // namespace polystate
