#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that count elements by their values.
namespace polystate {
namespace {

// How the bin of a value is found, which may differ at the edges.
enum class Finding : std::uint8_t {
  kAmongEdges,
  kByDivision,  // then among the edges around that bin
};

// A dimension of a histogram: bin i goes from edge i to edge i + 1, which only the last one
// includes.
template <typename T>
struct Axis {
  std::vector<T> edges;

  [[nodiscard]] std::int64_t bins() const { return std::ssize(edges) - 1; }
};

// The bin of a value, or -1 where it is outside of all.
template <typename T>
std::int64_t bin_of(T value, const Axis<T>& axis, Finding finding) {
  const std::vector<T>& edges = axis.edges;
  const std::int64_t bins = axis.bins();
  if (bins < 1 || !(value >= edges.front() && value <= edges.back())) return -1;
  std::int64_t first = 0;
  std::int64_t last = bins + 1;
  if (finding == Finding::kByDivision) {
    const T place = (value - edges.front()) * static_cast<T>(bins) / (edges.back() - edges.front());
    const std::int64_t bin =
        place > 0 ? static_cast<std::int64_t>(std::min(place, static_cast<T>(bins))) : 0;
    first = std::max<std::int64_t>(bin - 1, 0);
    last = std::min(bin + 2, bins + 1);
  }
  const auto above = std::upper_bound(edges.begin() + first, edges.begin() + last, value);
  return std::clamp<std::int64_t>(above - edges.begin() - 1, 0, bins - 1);
}

// Edges at equal distances, from both ends so that those are exact; rounded once, as PyTorch's.
template <typename T>
Axis<T> even_axis(std::pair<T, T> ends, std::int64_t bins) {
  Axis<T> axis;
  const T step = (ends.second - ends.first) / static_cast<T>(bins);
  for (std::int64_t i = 0; i <= bins; ++i) {
    axis.edges.push_back(i < (bins + 1) / 2
                             ? std::fma(step, static_cast<T>(i), ends.first)
                             : std::fma(-step, static_cast<T>(bins - i), ends.second));
  }
  return axis;
}

// What is counted: rows of values, one for each axis.
struct Samples {
  TensorArgument self;
  std::int64_t columns = 1;
  std::optional<TensorArgument> weights;  // one for each row
  bool as_density = false;

  [[nodiscard]] std::int64_t rows() const {
    return columns == 0 ? 0 : self.element_count() / columns;
  }
};

Status check(const Samples& samples) {
  if (samples.self.dtype() != DType::kFloat32 && samples.self.dtype() != DType::kFloat64) {
    return Error{ErrorCode::kEngine,
                 "a histogram of " + std::string(name_of(samples.self.dtype()))};
  }
  if (Status is = require_row_major(samples.self, "self"); !is) return is;
  if (!samples.weights) return {};
  if (Status is = require_row_major(*samples.weights, "weight"); !is) return is;
  if (samples.weights->dtype() != samples.self.dtype() ||
      samples.weights->element_count() != samples.rows()) {
    return Error{ErrorCode::kEngine, "weights are of another type than self or of another number"};
  }
  return {};
}

// The ends of one column: those that are given, or else of its values.
template <typename T>
Result<std::pair<T, T>> ends_of(const Samples& samples, std::int64_t column,
                                const std::optional<std::vector<double>>& range) {
  std::pair<T, T> ends{0, 1};
  const std::span<const T> values = elements<const T>(samples.self);
  if (range) {
    if (std::ssize(*range) != 2 * samples.columns) {
      return Error{ErrorCode::kEngine, "the range has " + std::to_string(range->size()) + " ends"};
    }
    const auto first = static_cast<std::size_t>(2 * column);
    ends = {static_cast<T>((*range)[first]), static_cast<T>((*range)[first + 1])};
  } else if (samples.rows() > 0) {
    const auto first = static_cast<std::size_t>(column);
    ends = {values[first], values[first]};
    for (std::size_t i = first; i < values.size(); i += static_cast<std::size_t>(samples.columns)) {
      if (!std::isfinite(values[i])) {
        return Error{ErrorCode::kEngine, "a value is not finite, and no range is given"};
      }
      ends = {std::min(ends.first, values[i]), std::max(ends.second, values[i])};
    }
  }
  if (!std::isfinite(ends.first) || !std::isfinite(ends.second) || ends.first > ends.second) {
    return Error{ErrorCode::kEngine, "the range is from " + std::to_string(ends.first) + " to " +
                                         std::to_string(ends.second)};
  }
  if (ends.first == ends.second) return std::pair<T, T>{ends.first - T(0.5), ends.second + T(0.5)};
  return ends;
}

// Counts divided by the number of all of them and by the sizes of the bins.
template <typename T>
void make_density(std::span<T> counts, const std::vector<Axis<T>>& axes) {
  T sum = 0;
  for (const T count : counts) sum += count;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] /= sum;
    auto rest = static_cast<std::int64_t>(i);
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      const auto bin = static_cast<std::size_t>(rest % axis->bins());
      rest /= axis->bins();
      counts[i] /= axis->edges[bin + 1] - axis->edges[bin];
    }
  }
}

template <typename T>
void count(const Samples& samples, const std::vector<Axis<T>>& axes, Finding finding,
           std::span<T> counts) {
  std::ranges::fill(counts, T(0));
  const T* const weights = samples.weights ? elements<const T>(*samples.weights).data() : nullptr;
  const T* value = elements<const T>(samples.self).data();
  for (std::int64_t row = 0; row < samples.rows(); ++row) {
    std::int64_t place = 0;
    for (const Axis<T>& axis : axes) {
      const std::int64_t bin = bin_of(*value++, axis, finding);
      place = bin < 0 || place < 0 ? -1 : place * axis.bins() + bin;
    }
    if (place >= 0)
      counts[static_cast<std::size_t>(place)] += weights == nullptr ? 1 : weights[row];
  }
  if (samples.as_density) make_density(counts, axes);
}

// Where results are among the arguments.
struct Positions {
  std::size_t counts;
  std::optional<std::size_t> edges;  // of the one axis
};

template <typename T>
Status write(ProgramArguments& arguments, const Samples& samples, const std::vector<Axis<T>>& axes,
             Finding finding, const Positions& positions) {
  std::vector<std::int64_t> shape(axes.size());
  std::ranges::transform(axes, shape.begin(), [](const Axis<T>& axis) { return axis.bins(); });
  const auto counts = arguments.result_at(positions.counts, samples.self.dtype(), shape);
  if (!counts) return counts.error();
  if (positions.edges) {
    const std::vector<std::int64_t> size{std::ssize(axes[0].edges)};
    const auto edges = arguments.result_at(*positions.edges, samples.self.dtype(), size);
    if (!edges) return edges.error();
    std::ranges::copy(axes[0].edges, elements<T>(*edges).begin());
  }
  count(samples, axes, finding, elements<T>(*counts));
  return {};
}

template <typename Work>
Status with_float_type(const Samples& samples, const Work& work) {
  if (samples.self.dtype() == DType::kFloat64) return work.template operator()<double>();
  return work.template operator()<float>();
}

Status check_bins(std::int64_t bins) {
  if (bins > 0 && bins < std::numeric_limits<std::int32_t>::max()) return {};
  return Error{ErrorCode::kEngine, std::to_string(bins) + " bins"};
}

// Bins of equal sizes.
Status count_in_even_bins(ProgramArguments& arguments, const Samples& samples,
                          std::span<const std::int64_t> bins,
                          const std::optional<std::vector<double>>& range,
                          const Positions& positions) {
  if (Status checked = check(samples); !checked) return checked;
  for (const std::int64_t each : bins) {
    if (Status checked = check_bins(each); !checked) return checked;
  }
  // Edges take memory, too: the bins are known to fit first.
  if (const auto counts = arguments.result_at(positions.counts, samples.self.dtype(), bins);
      !counts) {
    return counts.error();
  }
  return with_float_type(samples, [&]<typename T>() -> Status {
    std::vector<Axis<T>> axes;
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const auto ends = ends_of<T>(samples, static_cast<std::int64_t>(i), range);
      if (!ends) return ends.error();
      axes.push_back(even_axis(*ends, bins[i]));
    }
    return write(arguments, samples, axes, Finding::kByDivision, positions);
  });
}

Status count_among_edges(ProgramArguments& arguments, const Samples& samples,
                         std::span<const TensorArgument> edges, const Positions& positions) {
  if (Status checked = check(samples); !checked) return checked;
  for (const TensorArgument& each : edges) {
    if (Status is = require_row_major(each, "bins"); !is) return is;
    if (each.rank() != 1 || each.element_count() < 1 || each.dtype() != samples.self.dtype()) {
      return Error{ErrorCode::kEngine, "bins are no list, or of another type than self"};
    }
  }
  return with_float_type(samples, [&]<typename T>() {
    std::vector<Axis<T>> axes;
    for (const TensorArgument& each : edges) axes.push_back({converted<T>(each)});
    return write(arguments, samples, axes, Finding::kAmongEdges, positions);
  });
}

// Samples of several columns, of which there is one for each of `axes`.
Result<Samples> rows_of(Samples samples, std::size_t axes) {
  const int rank = samples.self.rank();
  samples.columns = samples.self.size(rank - 1);
  if (rank < 2 || samples.columns != static_cast<std::int64_t>(axes)) {
    return Error{ErrorCode::kEngine, "bins for " + std::to_string(axes) + " columns of " +
                                         std::to_string(samples.columns)};
  }
  return samples;
}

struct HistogramBinCount {
  static constexpr OperatorSchema kSchema{
      "aten::histogram.bin_ct_out(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
      "weight=None, bool density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) "
      "hist, Tensor(b!) bin_edges)"};
  static Status run(ProgramArguments& arguments) {
    const Samples samples{.self = arguments.tensor(0),
                          .weights = arguments.optional_tensor(3),
                          .as_density = arguments.boolean(4)};
    const std::int64_t bins = arguments.integer(1);
    const auto range = arguments.optional_numbers(2);
    if (!arguments.status()) return arguments.status();
    return count_in_even_bins(arguments, samples, {&bins, 1}, range, {.counts = 5, .edges = 6});
  }
};

struct HistogramBins {
  static constexpr OperatorSchema kSchema{
      "aten::histogram.bins_tensor_out(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
      "density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) hist, Tensor(b!) "
      "bin_edges)"};
  static Status run(ProgramArguments& arguments) {
    const Samples samples{.self = arguments.tensor(0),
                          .weights = arguments.optional_tensor(2),
                          .as_density = arguments.boolean(3)};
    const TensorArgument bins = arguments.tensor(1);
    if (!arguments.status()) return arguments.status();
    return count_among_edges(arguments, samples, {&bins, 1}, {.counts = 4, .edges = 5});
  }
};

struct HistogramddBinCounts {
  static constexpr OperatorSchema kSchema{
      "aten::_histogramdd_from_bin_cts.out(Tensor self, int[] bins, *, float[]? range=None, "
      "Tensor? weight=None, bool density=False, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const std::vector<std::int64_t> bins = arguments.integers(1);
    const auto range = arguments.optional_numbers(2);
    const Samples given{.self = arguments.tensor(0),
                        .weights = arguments.optional_tensor(3),
                        .as_density = arguments.boolean(4)};
    if (!arguments.status()) return arguments.status();
    const Result<Samples> samples = rows_of(given, bins.size());
    if (!samples) return samples.error();
    return count_in_even_bins(arguments, *samples, bins, range, {.counts = 5, .edges = {}});
  }
};

struct HistogramddBins {
  static constexpr OperatorSchema kSchema{
      "aten::_histogramdd_from_bin_tensors.out(Tensor self, Tensor[] bins, *, Tensor? weight=None, "
      "bool density=False, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const std::vector<TensorArgument> bins = arguments.tensors(1);
    const Samples given{.self = arguments.tensor(0),
                        .weights = arguments.optional_tensor(2),
                        .as_density = arguments.boolean(3)};
    if (!arguments.status()) return arguments.status();
    const Result<Samples> samples = rows_of(given, bins.size());
    if (!samples) return samples.error();
    return count_among_edges(arguments, *samples, bins, {.counts = 4, .edges = {}});
  }
};

// Bins of equal sizes from `low` to `high`, computed as PyTorch does, which rounds each result to
// the elements' type.
template <typename T>
struct EvenBins {
  using Number = Computed<T>;
  Number low = 0;
  Number high = 0;
  std::int64_t count = 0;

  static Number rounded(Number x) { return static_cast<Number>(static_cast<T>(x)); }

  // -1 of what is in none.
  [[nodiscard]] std::int64_t bin_of(Number x) const {
    if (!(x >= low && x <= high) || !std::isfinite(high - low)) return -1;
    if (low == high) return sizeof(T) < sizeof(float) ? 0 : count / 2;
    const Number scaled = rounded(rounded(x - low) * rounded(static_cast<Number>(count)));
    const Number place = rounded(scaled / rounded(high - low));
    if (!(place > 0)) return 0;
    return place < static_cast<Number>(count)
               ? std::min(static_cast<std::int64_t>(place), count - 1)
               : count - 1;
  }
};

// Equal ends stand for those of the values, and are moved apart, as far as the type has numbers
// between.
template <typename T>
Result<EvenBins<T>> even_bins(std::span<const T> values, std::pair<double, double> ends,
                              std::int64_t count) {
  using Number = Computed<T>;
  EvenBins<T> bins{.low = EvenBins<T>::rounded(static_cast<Number>(ends.first)),
                   .high = EvenBins<T>::rounded(static_cast<Number>(ends.second)),
                   .count = count};
  if (bins.low == bins.high && !values.empty()) {
    bins.low = bins.high = static_cast<Number>(values.front());
    for (const T value : values) {
      const auto x = static_cast<Number>(value);
      if (!std::isfinite(x)) {
        return Error{ErrorCode::kEngine, "a value is not finite, and no range is given"};
      }
      bins.low = std::min(bins.low, x);
      bins.high = std::max(bins.high, x);
    }
  }
  if (bins.low == bins.high) {
    bins.low = EvenBins<T>::rounded(bins.low - 1);
    bins.high = EvenBins<T>::rounded(bins.high + 1);
  }
  if (!std::isfinite(bins.low) || !std::isfinite(bins.high) || !(bins.low <= bins.high)) {
    return Error{ErrorCode::kEngine, "the range is from " + std::to_string(bins.low) + " to " +
                                         std::to_string(bins.high)};
  }
  return bins;
}

// In 16 bits PyTorch counts in the elements' type, each thread a part: a count that a thread has
// stays at 2048 (float16) or 256 (bfloat16). These count all.
struct Histc {
  static constexpr OperatorSchema kSchema{
      "aten::histc.out(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::int64_t bins = arguments.integer(1);
    const std::pair<double, double> ends{arguments.scalar(2), arguments.scalar(3)};
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    if (Status checked = check_bins(bins); !checked) return checked;
    return with_element_type(self.dtype(), [&]<typename T>() -> Status {
      if constexpr (kIsFloat<T>) {
        const auto found = even_bins<T>(elements<const T>(self), ends, bins);
        if (!found) return found.error();
        return count_in(arguments, self, *found);
      } else {
        return Error{ErrorCode::kEngine, "a histogram of integers"};
      }
    });
  }

 private:
  template <typename T>
  static Status count_in(ProgramArguments& arguments, const TensorArgument& self,
                         const EvenBins<T>& bins) {
    const auto out = arguments.result(self.dtype(), {&bins.count, 1});
    if (!out) return out.error();
    std::vector<std::int64_t> counts(static_cast<std::size_t>(bins.count));
    for (const T value : elements<const T>(self)) {
      const std::int64_t bin = bins.bin_of(static_cast<Computed<T>>(value));
      if (bin >= 0) ++counts[static_cast<std::size_t>(bin)];
    }
    const std::span<T> results = elements<T>(*out);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      results[i] = static_cast<T>(static_cast<Computed<T>>(counts[i]));
    }
    return {};
  }
};

template <typename T>
void add_weights(std::span<const std::int64_t> bins, const TensorArgument& weights,
                 const TensorArgument& out) {
  const std::vector<T> values = converted<T>(weights);
  const std::span<T> totals = elements<T>(out);
  std::ranges::fill(totals, T(0));
  for (std::size_t i = 0; i < bins.size(); ++i) {
    totals[static_cast<std::size_t>(bins[i])] += values[i];
  }
}

struct Bincount {
  static constexpr OperatorSchema kSchema{
      "aten::bincount.out(Tensor self, Tensor? weights=None, SymInt minlength=0, *, Tensor(a!) "
      "out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::optional<TensorArgument> weights = arguments.optional_tensor(1);
    std::int64_t size = arguments.integer(2);
    if (!arguments.status()) return arguments.status();
    if (Status checked = check(self, weights); !checked) return checked;
    if (size < 0) return Error{ErrorCode::kEngine, "minlength " + std::to_string(size)};
    const bool is_wide = self.dtype() == DType::kInt64;
    const std::vector<std::int64_t> widened =
        is_wide ? std::vector<std::int64_t>() : converted<std::int64_t>(self);
    const std::span<const std::int64_t> bins =
        is_wide ? elements<const std::int64_t>(self) : widened;
    for (const std::int64_t bin : bins) {
      if (bin < 0 || bin == std::numeric_limits<std::int64_t>::max()) {
        return Error{ErrorCode::kEngine, "bin " + std::to_string(bin)};
      }
      size = std::max(size, bin + 1);
    }
    const DType dtype = dtype_of_counts(bins.empty() ? std::nullopt : weights);
    const Result<TensorArgument> out = arguments.result(dtype, {&size, 1});
    if (!out) return out.error();
    if (overlap(self, *out)) return Error{ErrorCode::kEngine, "out lies where self does"};
    if (weights && dtype == DType::kFloat32) {
      add_weights<float>(bins, *weights, *out);
    } else if (weights && dtype == DType::kFloat64) {
      add_weights<double>(bins, *weights, *out);
    } else {
      const std::span<std::int64_t> counts = elements<std::int64_t>(*out);
      std::ranges::fill(counts, 0);
      for (const std::int64_t bin : bins) ++counts[static_cast<std::size_t>(bin)];
    }
    return {};
  }

 private:
  static Status check(const TensorArgument& self, const std::optional<TensorArgument>& weights) {
    if (Status is = require_row_major(self, "self"); !is) return is;
    if (self.rank() != 1 || !is_integer(self.dtype())) {
      return Error{ErrorCode::kEngine, "self is no list of integers"};
    }
    if (!weights) return {};
    if (Status is = require_row_major(*weights, "weights"); !is) return is;
    if (weights->rank() != 1 || weights->element_count() != self.element_count()) {
      return Error{ErrorCode::kEngine, "weights are not as many as self has elements"};
    }
    return {};
  }

  static DType dtype_of_counts(const std::optional<TensorArgument>& weights) {
    if (!weights) return DType::kInt64;
    return weights->dtype() == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  }
};

}  // namespace

std::span<const ListedOperator> histogram_operators() {
  return listed<Bincount, Histc, HistogramBinCount, HistogramBins, HistogramddBinCounts,
                HistogramddBins>();
}

}  // namespace polystate
