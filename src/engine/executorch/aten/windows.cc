#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "core/wrapping.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/pooling.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/aten/triples.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Pools whose windows lie at even distances. A row of results is computed at once, as the windows'
// first elements are, then the second ones, and so on: all of them lie as far apart.
namespace polystate {
namespace {

// How windows lie: of `kernel` places, `dilation` apart, `stride` from one to the next, over a
// plane that is padded.
struct Grid {
  Triple kernel{};
  Triple stride{};
  Triple padding{};
  Triple dilation{1, 1, 1};
  bool ceil_mode = false;  // a last window may reach past the padding
  Triple results{1, 1, 1};
};

// Whether an int64 holds how many elements there are in a window.
bool are_countable(const Triple& kernel) {
  std::int64_t count = 0;
  return !__builtin_mul_overflow(kernel[0], kernel[1], &count) &&
         !__builtin_mul_overflow(count, kernel[2], &count);
}

// How many windows a dimension has.
std::int64_t window_count(const Grid& grid, std::size_t i, std::int64_t size) {
  const std::int64_t reach = grid.dilation[i] * (grid.kernel[i] - 1) + 1;
  const std::int64_t room = size + 2 * grid.padding[i] - reach;
  const std::int64_t stride = grid.stride[i];
  if (room < 0 && !grid.ceil_mode) return 0;
  if (room < 0) return room + stride - 1 < 0 ? 0 : 1;
  std::int64_t count = (room + (grid.ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window begins in the plane or in the padding before it.
  if (grid.ceil_mode && (count - 1) * stride >= size + grid.padding[i]) --count;
  return count;
}

// Reads the arguments from 1 on that max pools and average pools share: kernel_size, stride,
// padding and, of max pools, dilation; then ceil_mode.
Result<Grid> grid_of(ProgramArguments& arguments, const Planes& planes, bool has_dilation) {
  Grid grid;
  const Result<Triple> kernel = triple(arguments, 1, planes.rank, 1, 1);
  if (!kernel) return kernel.error();
  const bool has_stride = !arguments.integers(2).empty();
  const Result<Triple> stride = has_stride ? triple(arguments, 2, planes.rank, 1, 1) : *kernel;
  if (!stride) return stride.error();
  const Result<Triple> padding = triple(arguments, 3, planes.rank, 0, 0);
  if (!padding) return padding.error();
  const Result<Triple> dilation =
      has_dilation ? triple(arguments, 4, planes.rank, 1, 1) : grid.dilation;
  if (!dilation) return dilation.error();
  grid.kernel = *kernel;
  grid.stride = *stride;
  grid.padding = *padding;
  grid.dilation = *dilation;
  grid.ceil_mode = arguments.boolean(has_dilation ? 5 : 4);
  if (!arguments.status()) return arguments.status().error();
  for (std::size_t i = planes.begin(); i < 3; ++i) {
    if (grid.padding[i] > grid.kernel[i] / 2) return refused("more padding than half a window");
    grid.results[i] = window_count(grid, i, planes.sizes[i]);
    if (grid.results[i] < 1) return refused("a plane is smaller than a window");
  }
  return grid;
}

Windows windows_of(const Grid& grid, const Planes& planes) {
  Windows windows;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t size = planes.sizes[i];
    const std::int64_t step = grid.dilation[i];
    for (std::int64_t at = 0; at < grid.results[i]; ++at) {
      const std::int64_t start = at * grid.stride[i] - grid.padding[i];
      const std::int64_t reach = start + step * (grid.kernel[i] - 1) + 1;
      Window window{.last = std::min(reach, size), .step = step};
      window.first = start < 0 ? start + (step - 1 - start) / step * step : start;
      window.padded = std::min(start + grid.kernel[i], size + grid.padding[i]) - start;
      windows[i].push_back(window);
    }
  }
  return windows;
}

// Elements of a row of a plane, one for each of `count` windows of neighbours from `first` on. That
// of the first lies at `place` in the plane.
struct Tap {
  std::int64_t place;
  std::int64_t first;
  std::int64_t count;
};

// Some neighbours in a row of results, those from `first` on, of which the place among all is `at`.
struct Results {
  std::int64_t at;
  std::int64_t first;
  std::int64_t count;
  const Window& depth;
  const Window& height;
};

// Calls `take(tap)` for all elements in the windows of results, in the order of a plane. Taps count
// the windows from these results' first on.
template <typename Take>
void for_each_tap(const Planes& planes, const Grid& grid, const Results& results,
                  const Take& take) {
  const std::int64_t width = planes.sizes[2];
  const std::int64_t stride = grid.stride[2];
  const std::int64_t padding = grid.padding[2];
  const std::int64_t apart = grid.dilation[2];
  const std::int64_t start = results.first * stride - padding;  // of the first window
  const std::int64_t reach = (results.count - 1) * stride;      // from there to the last window's
  const std::int64_t begin = quotient_above(std::max<std::int64_t>(0, -start - reach), apart);
  const std::int64_t end =
      std::min(grid.kernel[2], quotient_above(std::max<std::int64_t>(0, width - start), apart));
  const Window& depth = results.depth;
  const Window& height = results.height;
  for (std::int64_t d = depth.first; d < depth.last; d += depth.step) {
    for (std::int64_t h = height.first; h < height.last; h += height.step) {
      const std::int64_t row = (d * planes.sizes[1] + h) * width;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = start + i * apart;  // in the first window
        const std::int64_t first = place < 0 ? quotient_above(-place, stride) : 0;
        const std::int64_t last = std::min(results.count, (width - 1 - place) / stride + 1);
        if (first < last) take(Tap{row + place + first * stride, first, last - first});
      }
    }
  }
}

// As many results at a time as stay in a processor's nearest cache.
constexpr std::int64_t kResultsAtOnce = 1024;

// Calls `work(row, results)` for parts of each row of results. `row` is a Row of the thread's own,
// a PlaneOfNumbers that has read the results' plane.
template <typename Row, typename Work>
void for_each_row(const Planes& planes, const Triple& counts, const Windows& windows,
                  const Work& work) {
  const std::int64_t of_plane = counts[0] * counts[1] * counts[2];
  const std::int64_t each = std::max<std::int64_t>({1, of_plane, planes.elements()});
  const std::int64_t grain = std::max<std::int64_t>(1, kPlaneElementsWorthAThread / each);
  parallel_for(planes.count, grain, [&](std::int64_t begin, std::int64_t end) {
    Row row;
    for (std::int64_t plane = begin; plane < end; ++plane) {
      row.read(planes, plane);
      std::int64_t at = plane * of_plane;
      for (const Window& depth : windows[0]) {
        for (const Window& height : windows[1]) {
          for (std::int64_t first = 0; first < counts[2]; first += kResultsAtOnce) {
            const std::int64_t count = std::min(kResultsAtOnce, counts[2] - first);
            work(row, Results{at, first, count, depth, height});
            at += count;
          }
        }
      }
    }
  });
}

// Adds numbers that lie `stride` apart to sums that lie side by side.
template <std::int64_t kStride, typename Number>
void add_tap(const Number* values, std::int64_t stride, std::int64_t count, Number* sums) {
  const std::int64_t step = kStride > 0 ? kStride : stride;
  for (std::int64_t i = 0; i < count; ++i) sums[i] = wrapping_sum(sums[i], values[i * step]);
}

// The largest numbers of neighbouring windows so far, and their places.
template <typename Number, typename Place>
struct Largest {
  Number* values;
  Place* places;
};

// Keeps the larger ones of numbers that lie `stride` apart, the first at `first`, and of the
// largest ones so far.
template <std::int64_t kStride, typename Number, typename Place>
void compare_tap(const Number* values, std::int64_t stride, std::int64_t count, Place first,
                 Largest<Number, Place> largest) {
  Number* const most = largest.values;
  Place* const places = largest.places;
  const std::int64_t step = kStride > 0 ? kStride : stride;
  for (std::int64_t i = 0; i < count; ++i) {
    const Number x = values[i * step];
    const bool is_larger = x > most[i] || x != x;
    most[i] = is_larger ? x : most[i];
    places[i] = is_larger ? static_cast<Place>(first + i * step) : places[i];
  }
}

// The loop for a distance of 1, of 2, or of any.
template <auto kOfOne, auto kOfTwo, auto kOfAny>
auto loop_of(std::int64_t stride) {
  const InstructionSet set = best_instruction_set();
  if (stride == 1) return vectorised<kOfOne>(set);
  return stride == 2 ? vectorised<kOfTwo>(set) : vectorised<kOfAny>(set);
}

// A row of results: the sums of windows so far.
template <typename Number>
struct SumsRow : PlaneOfNumbers<Number> {
  std::vector<Number> sums;
};

// Calls `divisor(depth, height, width)` for what the sum of a window is divided by.
template <typename Number, typename Divisor>
void find_means(const Planes& planes, const Grid& grid, const TensorArgument& out,
                const Divisor& divisor) {
  const Windows windows = windows_of(grid, planes);
  const std::int64_t stride = grid.stride[2];
  const auto add = loop_of<&add_tap<1, Number>, &add_tap<2, Number>, &add_tap<0, Number>>(stride);
  const WriteAs<Number> means(out);
  using Row = SumsRow<Number>;
  for_each_row<Row>(planes, grid.results, windows, [&](Row& row, const Results& results) {
    const auto& [at, first, count, depth, height] = results;
    row.sums.assign(static_cast<std::size_t>(count), Number{});
    for_each_tap(planes, grid, results, [&](const Tap& tap) {
      add(row.plane + tap.place, stride, tap.count, row.sums.data() + tap.first);
    });
    for (std::size_t i = 0; i < row.sums.size(); ++i) {
      const Window& width = windows[2][static_cast<std::size_t>(first) + i];
      const bool is_empty = depth.count() * height.count() * width.count() == 0;
      const auto by = static_cast<Number>(divisor(depth, height, width));
      row.sums[i] = is_empty ? Number{} : quotient(row.sums[i], by);
    }
    means.put(at, row.sums.data(), count);
  });
}

Status means_of_windows(ProgramArguments& arguments, std::size_t rank) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Grid> grid = grid_of(arguments, *planes, false);
  if (!grid) return grid.error();
  const bool with_padding = arguments.boolean(5);
  const std::optional<std::int64_t> given = arguments.optional_integer(6);
  if (!arguments.status()) return arguments.status();
  if (given && *given == 0) return refused("divisor_override is 0");
  const DType dtype = planes->self.dtype();
  if (!is_float(dtype) && dtype != DType::kInt64) return refused("self is of integers");
  const Result<TensorArgument> out = arguments.result_at(7, dtype, planes->shape(grid->results));
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  if (with_padding && !given && !are_countable(grid->kernel)) {
    return refused("a window has more elements than an int64 counts");
  }
  const auto divisor = [&](const Window& depth, const Window& height, const Window& width) {
    if (given) return *given;
    if (with_padding) return depth.padded * height.padded * width.padded;
    return depth.count() * height.count() * width.count();
  };
  with_number_type(dtype, [&]<typename Number>() {
    if constexpr (!std::is_same_v<Number, std::int32_t>) {  // small integers are refused above
      find_means<Number>(*planes, *grid, *out, divisor);
    }
  });
  return {};
}

struct AvgPool2d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
      "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, "
      "*, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return means_of_windows(arguments, 2); }
};

struct AvgPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::avg_pool3d.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
      "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, "
      "Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return means_of_windows(arguments, 3); }
};

// A row of results: the largest numbers of windows so far, and their places.
template <typename Number, typename Place>
struct MaximaRow : PlaneOfNumbers<Number> {
  std::vector<Number> most;
  std::vector<Place> places;
};

// Planes of so many elements that their places are wide are rare, and take one loop.
template <typename Number, typename Place>
auto comparing_loop(std::int64_t stride) {
  if constexpr (sizeof(Place) > sizeof(std::int32_t)) {
    return &compare_tap<0, Number, Place>;
  } else {
    return loop_of<&compare_tap<1, Number, Place>, &compare_tap<2, Number, Place>,
                   &compare_tap<0, Number, Place>>(stride);
  }
}

// What a window without elements gives.
template <typename Number>
Number least_of(DType dtype) {
  if constexpr (std::is_floating_point_v<Number>) return Larger::nothing<Number>();
  return with_element_type(dtype, []<typename T>() -> Number {
    if constexpr (!kIsFloat<T>) return static_cast<Number>(std::numeric_limits<T>::lowest());
    return 0;  // which no integers are
  });
}

template <typename Number, typename Place>
void find_maxima(const Planes& planes, const Grid& grid, const Maxima& maxima) {
  const Windows windows = windows_of(grid, planes);
  const std::int64_t stride = grid.stride[2];
  const auto compare = comparing_loop<Number, Place>(stride);
  const Number least = least_of<Number>(maxima.values.dtype());
  const WriteAs<Number> values(maxima.values);
  using Row = MaximaRow<Number, Place>;
  for_each_row<Row>(planes, grid.results, windows, [&](Row& row, const Results& results) {
    const auto& [at, first, count, depth, height] = results;
    row.most.assign(static_cast<std::size_t>(count), least);
    row.places.clear();
    const std::int64_t line = (depth.first * planes.sizes[1] + height.first) * planes.sizes[2];
    for (std::int64_t i = first; i < first + count; ++i) {
      const Window& width = windows[2][static_cast<std::size_t>(i)];
      row.places.push_back(static_cast<Place>(line + width.first));
    }
    for_each_tap(planes, grid, results, [&](const Tap& tap) {
      compare(row.plane + tap.place, stride, tap.count, static_cast<Place>(tap.place),
              Largest<Number, Place>{row.most.data() + tap.first, row.places.data() + tap.first});
    });
    values.put(at, row.most.data(), count);
    std::ranges::copy(row.places, elements<std::int64_t>(maxima.indices).data() + at);
  });
}

Status maxima_of_windows(ProgramArguments& arguments, std::size_t rank) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Grid> grid = grid_of(arguments, *planes, true);
  if (!grid) return grid.error();
  const Result<Maxima> maxima = maxima_at(arguments, 6, *planes, grid->results);
  if (!maxima) return maxima.error();
  if (maxima->values.element_count() == 0) return {};
  // Places of 32 bits are compared beside elements as narrow.
  const bool is_small = planes->elements() <= std::numeric_limits<std::int32_t>::max();
  with_number_type(maxima->values.dtype(), [&]<typename Number>() {
    is_small ? find_maxima<Number, std::int32_t>(*planes, *grid, *maxima)
             : find_maxima<Number, std::int64_t>(*planes, *grid, *maxima);
  });
  return {};
}

// ExecuTorch's own loses NaN.
struct MaxPool2d {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] "
      "stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, "
      "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return maxima_of_windows(arguments, 2); }
};

struct MaxPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::max_pool3d_with_indices.out(Tensor self, int[3] kernel_size, int[3] stride=[], "
      "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) "
      "indices) -> (Tensor(a!), Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return maxima_of_windows(arguments, 3); }
};

}  // namespace

std::span<const ListedOperator> window_operators() {
  return listed<AvgPool2d, AvgPool3d, MaxPool2d, MaxPool3d>();
}

}  // namespace polystate
