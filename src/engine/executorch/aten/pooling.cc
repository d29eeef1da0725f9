#include "engine/executorch/aten/pooling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
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

// Pools whose windows cover a plane, as even as they can be or moved by samples.
namespace polystate {

Result<Planes> planes_of(ProgramArguments& arguments, std::size_t rank) {
  Planes planes{.self = arguments.tensor(0), .rank = rank};
  if (!arguments.status()) return arguments.status().error();
  const TensorArgument& self = planes.self;
  if (const Status row_major = require_row_major(self, "self"); !row_major)
    return row_major.error();
  const auto all = static_cast<std::size_t>(self.rank());
  if (all != rank + 1 && all != rank + 2) {
    return refused("self has " + std::to_string(all) + " dimensions, not " +
                   std::to_string(rank + 1) + " or " + std::to_string(rank + 2));
  }
  for (std::size_t i = 0; i < all; ++i) {
    const std::int64_t size = self.shape()[i];
    if (i + rank < all) {
      planes.count *= size;
    } else {
      planes.sizes[3 + i - all] = size;
    }
  }
  return planes;
}

Result<Maxima> maxima_at(ProgramArguments& arguments, std::size_t index, const Planes& planes,
                         const Triple& results) {
  const std::vector<std::int64_t> shape = planes.shape(results);
  const Result<TensorArgument> values = arguments.result_at(index, planes.self.dtype(), shape);
  if (!values) return values.error();
  const Result<TensorArgument> indices = arguments.result_at(index + 1, DType::kInt64, shape);
  if (!indices) return indices.error();
  return Maxima{*values, *indices};
}

namespace {

// Windows that cover a plane, as even as they can be.
Windows even_windows(const Triple& sizes, const Triple& results) {
  Windows windows;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::int64_t at = 0; at < results[i]; ++at) {
      const std::int64_t first = at * sizes[i] / results[i];
      const std::int64_t last = ((at + 1) * sizes[i] + results[i] - 1) / results[i];
      windows[i].push_back({.first = first, .last = last, .step = 1, .padded = last - first});
    }
  }
  return windows;
}

// Calls `work(plane, at, depth, height, width)` for each result: with its plane, as numbers, its
// place among all results, and its window of those that `windows_of_plane(index)` has.
template <typename Number, typename WindowsOfPlane, typename Work>
void for_each_window(const Planes& planes, const Triple& results,
                     const WindowsOfPlane& windows_of_plane, const Work& work) {
  const std::int64_t of_plane = results[0] * results[1] * results[2];
  const std::int64_t each = std::max<std::int64_t>({1, of_plane, planes.elements()});
  const std::int64_t grain = std::max<std::int64_t>(1, kPlaneElementsWorthAThread / each);
  parallel_for(planes.count, grain, [&](std::int64_t begin, std::int64_t end) {
    PlaneOfNumbers<Number> numbers;
    for (std::int64_t index = begin; index < end; ++index) {
      numbers.read(planes, index);
      const Windows& windows = windows_of_plane(index);
      std::int64_t at = index * of_plane;
      for (const Window& depth : windows[0]) {
        for (const Window& height : windows[1]) {
          for (const Window& width : windows[2]) work(numbers.plane, at++, depth, height, width);
        }
      }
    }
  });
}

// Calls `work(place)` for the places of a plane that are in a window.
template <typename Work>
void for_each_place(const Triple& sizes, const Window& depth, const Window& height,
                    const Window& width, const Work& work) {
  for (std::int64_t d = depth.first; d < depth.last; d += depth.step) {
    for (std::int64_t h = height.first; h < height.last; h += height.step) {
      const std::int64_t row = (d * sizes[1] + h) * sizes[2];
      for (std::int64_t w = width.first; w < width.last; w += width.step) work(row + w);
    }
  }
}

// Whether a sum is rounded to the elements' type at each step, not at the end alone.
enum class Rounds : std::uint8_t { kAtEachStep, kAtTheEnd };

// Fills in the means of windows.
template <typename Number, Rounds kRounds>
void find_means(const Planes& planes, const Triple& results, const TensorArgument& out) {
  const Windows windows = even_windows(planes.sizes, results);
  const WriteAs<Number> means(out);
  const auto step = [&](Number x) {
    if constexpr (kRounds == Rounds::kAtEachStep) {
      return rounded_to(out.dtype(), x);
    } else {
      return x;
    }
  };
  for_each_window<Number>(
      planes, results, [&](std::int64_t) -> const Windows& { return windows; },
      [&](const Number* plane, std::int64_t at, const Window& depth, const Window& height,
          const Window& width) {
        Number sum{};
        for_each_place(planes.sizes, depth, height, width,
                       [&](std::int64_t place) { sum = step(sum + plane[place]); });
        const auto size = static_cast<Number>(depth.padded * height.padded * width.padded);
        const Number mean = sum / step(size);
        means.put(at, &mean, 1);
      });
}

// The means of windows that cover planes of `rank` dimensions, as `_adaptive_avg_pool` has them.
Status adaptive_means(ProgramArguments& arguments, std::size_t rank, Rounds rounds) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Triple> results = triple(arguments, 1, rank, 1, 0);
  if (!results) return results.error();
  const DType dtype = planes->self.dtype();
  if (!is_float(dtype)) return refused("self is of integers");
  const Result<TensorArgument> out = arguments.result_at(2, dtype, planes->shape(*results));
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  if (planes->elements() == 0) return refused("a plane is empty");
  if (dtype == DType::kFloat64) {
    find_means<double, Rounds::kAtTheEnd>(*planes, *results, *out);
  } else if (dtype == DType::kFloat32 || rounds == Rounds::kAtTheEnd) {
    find_means<float, Rounds::kAtTheEnd>(*planes, *results, *out);
  } else {
    find_means<float, Rounds::kAtEachStep>(*planes, *results, *out);
  }
  return {};
}

struct AdaptiveAvgPool2d {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) "
      "out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return adaptive_means(arguments, 2, Rounds::kAtTheEnd);
  }
};

struct AdaptiveAvgPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::_adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return adaptive_means(arguments, 3, Rounds::kAtEachStep);
  }
};

// Fills in the largest elements of windows.
template <typename WindowsOfPlane>
void find_maxima(const Planes& planes, const Triple& results, const Maxima& maxima,
                 const WindowsOfPlane& windows_of_plane) {
  std::int64_t* const where = elements<std::int64_t>(maxima.indices).data();
  with_number_type(planes.self.dtype(), [&]<typename Number>() {
    const WriteAs<Number> best(maxima.values);
    for_each_window<Number>(
        planes, results, windows_of_plane,
        [&](const Number* plane, std::int64_t at, const Window& depth, const Window& height,
            const Window& width) {
          Number most = Larger::nothing<Number>();
          std::int64_t found =
              (depth.first * planes.sizes[1] + height.first) * planes.sizes[2] + width.first;
          for_each_place(planes.sizes, depth, height, width, [&](std::int64_t place) {
            const Number x = plane[place];
            if (x > most || x != x) {
              most = x;
              found = place;
            }
          });
          best.put(at, &most, 1);
          where[at] = found;
        });
  });
}

Status adaptive_maxima(ProgramArguments& arguments, std::size_t rank) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Triple> results = triple(arguments, 1, rank, 1, 0);
  if (!results) return results.error();
  const Result<Maxima> maxima = maxima_at(arguments, 2, *planes, *results);
  if (!maxima) return maxima.error();
  if (maxima->values.element_count() == 0) return {};
  if (planes->elements() == 0) return refused("a plane is empty");
  const Windows windows = even_windows(planes->sizes, *results);
  find_maxima(*planes, *results, *maxima, [&](std::int64_t) -> const Windows& { return windows; });
  return {};
}

struct AdaptiveMaxPool2d {
  static constexpr OperatorSchema kSchema{
      "aten::adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, "
      "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return adaptive_maxima(arguments, 2); }
};

struct AdaptiveMaxPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::adaptive_max_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out, "
      "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return adaptive_maxima(arguments, 3); }
};

// So many windows of one size.
struct EqualWindows {
  std::int64_t size;
  std::int64_t count;
};

// Where windows begin that cover a dimension at about even distances, which a sample of 0 to 1
// moves. Rounded as PyTorch rounds numbers of the samples' type.
std::vector<Window> moved_windows(const TensorArgument& samples, std::size_t sample_index,
                                  std::int64_t size, const EqualWindows& equal) {
  std::vector<Window> windows(static_cast<std::size_t>(equal.count));
  const std::int64_t last = size - equal.size;
  const auto whole = [size](double place) {  // 16-bit floats may be infinite
    const auto limit = static_cast<double>(size);
    return place > -limit && place < limit ? static_cast<std::int64_t>(place) : size;
  };
  with_element_type(samples.dtype(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      const T sample = elements<const T>(samples)[sample_index];
      const T distance =
          equal.count > 1 ? static_cast<T>(last) / static_cast<T>(equal.count - 1) : T{};
      const std::int64_t before = whole(static_cast<double>(sample * distance));
      for (std::int64_t i = 0; i < equal.count; ++i) {
        const T place = (static_cast<T>(i) + sample) * distance;
        const std::int64_t moved = whole(static_cast<double>(place)) - before;
        const bool is_last = i == equal.count - 1;
        const std::int64_t first = is_last ? last : std::clamp<std::int64_t>(moved, 0, last);
        windows[static_cast<std::size_t>(i)] = {
            .first = first, .last = first + equal.size, .step = 1, .padded = equal.size};
      }
    }
  });
  return windows;
}

// Fails where samples are not those of 0 to 1 for each dimension of each plane.
Status check_samples(const TensorArgument& samples, const Planes& planes) {
  if (const Status row_major = require_row_major(samples, "random_samples"); !row_major) {
    return row_major;
  }
  const auto rank = static_cast<std::int64_t>(planes.rank);
  if (samples.dtype() != planes.self.dtype() || !is_float(samples.dtype()) || samples.rank() != 3 ||
      samples.size(2) != rank || samples.element_count() != planes.count * rank) {
    return refused("random_samples are not of self's type and planes");
  }
  for (const double sample : converted<double>(samples)) {
    if (!(sample >= 0 && sample <= 1)) {
      return refused("a random sample is " + std::to_string(sample));
    }
  }
  return {};
}

Status fractional_maxima(ProgramArguments& arguments, std::size_t rank) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Triple> kernel = triple(arguments, 1, rank, 1, 1);
  if (!kernel) return kernel.error();
  const Result<Triple> results = triple(arguments, 2, rank, 1, 1);
  if (!results) return results.error();
  const TensorArgument samples = arguments.tensor(3);
  if (!arguments.status()) return arguments.status();
  if (const Status status = check_samples(samples, *planes); !status) return status;
  for (std::size_t i = planes->begin(); i < 3; ++i) {
    if ((*results)[i] + (*kernel)[i] - 1 > planes->sizes[i]) {
      return refused("a plane is smaller than its windows");
    }
  }
  const Result<Maxima> maxima = maxima_at(arguments, 4, *planes, *results);
  if (!maxima) return maxima.error();
  find_maxima(*planes, *results, *maxima, [&](std::int64_t plane) {
    Windows windows;
    windows[0].resize(1);
    for (std::size_t i = planes->begin(); i < 3; ++i) {
      // Of planes of two dimensions, the width's sample comes first.
      const std::size_t place = static_cast<std::size_t>(plane) * rank + (rank == 2 ? 2 - i : i);
      windows[i] = moved_windows(samples, place, planes->sizes[i], {(*kernel)[i], (*results)[i]});
    }
    return windows;
  });
  return {};
}

struct FractionalMaxPool2d {
  static constexpr OperatorSchema kSchema{
      "aten::fractional_max_pool2d.output(Tensor self, int[2] kernel_size, int[2] output_size, "
      "Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), "
      "Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return fractional_maxima(arguments, 2); }
};

struct FractionalMaxPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::fractional_max_pool3d.output(Tensor self, int[3] kernel_size, int[3] output_size, "
      "Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), "
      "Tensor(b!))"};
  static Status run(ProgramArguments& arguments) { return fractional_maxima(arguments, 3); }
};

}  // namespace

std::span<const ListedOperator> pooling_operators() {
  return listed<AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
                FractionalMaxPool2d, FractionalMaxPool3d>();
}

}  // namespace polystate
