#include "engine/executorch/aten/pooling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/wrapping.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
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

// Calls `work(plane, at, depth, height, width)` for each result, `at` its place among all, with the
// windows that `windows_of_plane(plane)` has.
template <typename WindowsOfPlane, typename Work>
void for_each_window(const Planes& planes, const Triple& results,
                     const WindowsOfPlane& windows_of_plane, const Work& work) {
  const std::int64_t of_plane = results[0] * results[1] * results[2];
  const std::int64_t each = std::max<std::int64_t>({1, of_plane, planes.elements()});
  const std::int64_t grain = std::max<std::int64_t>(1, kPlaneElementsWorthAThread / each);
  parallel_for(planes.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const Windows& windows = windows_of_plane(plane);
      std::int64_t at = plane * of_plane;
      for (const Window& depth : windows[0]) {
        for (const Window& height : windows[1]) {
          for (const Window& width : windows[2]) work(plane, at++, depth, height, width);
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

// What a sum of elements is kept in.
enum class Sums : std::uint8_t { kComputed, kRounded };

// Fills in the means of windows; `divisor(depth, height, width)` is what their sums are divided by.
template <Sums kSums, typename Divisor>
void average(const Planes& planes, const Triple& results, const Windows& windows,
             const TensorArgument& out, const Divisor& divisor) {
  with_element_type(out.dtype(), [&]<typename T>() {
    using Sum = std::conditional_t<kSums == Sums::kRounded, T, Computed<T>>;
    const std::span<const T> from = elements<const T>(planes.self);
    const std::span<T> means = elements<T>(out);
    for_each_window(
        planes, results, [&](std::int64_t) -> const Windows& { return windows; },
        [&](std::int64_t plane, std::int64_t at, const Window& depth, const Window& height,
            const Window& width) {
          const T* const values = from.data() + plane * planes.elements();
          Sum sum{};
          for_each_place(planes.sizes, depth, height, width, [&](std::int64_t place) {
            sum = wrapping_sum(sum, static_cast<Sum>(values[place]));
          });
          const bool is_empty = depth.count() * height.count() * width.count() == 0;
          const auto by = static_cast<Sum>(divisor(depth, height, width));
          means[static_cast<std::size_t>(at)] = is_empty ? T{} : static_cast<T>(quotient(sum, by));
        });
  });
}

// The means of windows that cover planes of `rank` dimensions, as `_adaptive_avg_pool` has them.
template <Sums kSums>
Status adaptive_means(ProgramArguments& arguments, std::size_t rank) {
  const Result<Planes> planes = planes_of(arguments, rank);
  if (!planes) return planes.error();
  const Result<Triple> results = triple(arguments, 1, rank, 1, 0);
  if (!results) return results.error();
  if (!is_float(planes->self.dtype())) return refused("self is of integers");
  const Result<TensorArgument> out =
      arguments.result_at(2, planes->self.dtype(), planes->shape(*results));
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  if (planes->elements() == 0) return refused("a plane is empty");
  average<kSums>(*planes, *results, even_windows(planes->sizes, *results), *out,
                 [](const Window& depth, const Window& height, const Window& width) {
                   return depth.padded * height.padded * width.padded;
                 });
  return {};
}

struct AdaptiveAvgPool2d {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) "
      "out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return adaptive_means<Sums::kComputed>(arguments, 2);
  }
};

struct AdaptiveAvgPool3d {
  static constexpr OperatorSchema kSchema{
      "aten::_adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return adaptive_means<Sums::kRounded>(arguments, 3);
  }
};

// Fills in the largest elements of windows.
template <typename WindowsOfPlane>
void find_maxima(const Planes& planes, const Triple& results, const TensorArgument& maxima,
                 const TensorArgument& indices, const WindowsOfPlane& windows_of_plane) {
  with_element_type(maxima.dtype(), [&]<typename T>() {
    const std::span<const T> from = elements<const T>(planes.self);
    const std::span<T> best = elements<T>(maxima);
    const std::span<std::int64_t> where = elements<std::int64_t>(indices);
    for_each_window(planes, results, windows_of_plane,
                    [&](std::int64_t plane, std::int64_t at, const Window& depth,
                        const Window& height, const Window& width) {
                      const T* const values = from.data() + plane * planes.elements();
                      using Limits = std::numeric_limits<Computed<T>>;
                      Computed<T> most = kIsFloat<T> ? -Limits::infinity() : Limits::lowest();
                      std::int64_t found =
                          (depth.first * planes.sizes[1] + height.first) * planes.sizes[2] +
                          width.first;
                      for_each_place(planes.sizes, depth, height, width, [&](std::int64_t place) {
                        const auto x = static_cast<Computed<T>>(values[place]);
                        if (x > most || x != x) {
                          most = x;
                          found = place;
                        }
                      });
                      best[static_cast<std::size_t>(at)] = static_cast<T>(most);
                      where[static_cast<std::size_t>(at)] = found;
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
  find_maxima(*planes, *results, maxima->values, maxima->indices,
              [&](std::int64_t) -> const Windows& { return windows; });
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

// Where windows begin that cover a dimension at about even distances, which `sample`, of 0 to 1,
// moves. Rounded as PyTorch rounds numbers of the type.
template <typename T>
std::vector<Window> moved_windows(T sample, std::int64_t size, std::int64_t kernel,
                                  std::int64_t count) {
  std::vector<Window> windows(static_cast<std::size_t>(count));
  const std::int64_t last = size - kernel;
  const T distance = count > 1 ? static_cast<T>(last) / static_cast<T>(count - 1) : T{};
  const auto whole = [size](T place) {  // 16-bit floats may be infinite
    const auto number = static_cast<double>(place);
    const auto limit = static_cast<double>(size);
    return number > -limit && number < limit ? static_cast<std::int64_t>(number) : size;
  };
  const std::int64_t before = whole(sample * distance);
  for (std::int64_t i = 0; i < count; ++i) {
    const T place = (static_cast<T>(i) + sample) * distance;
    const std::int64_t moved = whole(place) - before;
    const std::int64_t first = i == count - 1 ? last : std::clamp<std::int64_t>(moved, 0, last);
    windows[static_cast<std::size_t>(i)] = {
        .first = first, .last = first + kernel, .step = 1, .padded = kernel};
  }
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
  with_element_type(samples.dtype(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      const std::span<const T> moves = elements<const T>(samples);
      find_maxima(*planes, *results, maxima->values, maxima->indices, [&](std::int64_t plane) {
        Windows windows;
        windows[0].resize(1);
        for (std::size_t i = planes->begin(); i < 3; ++i) {
          // Of planes of two dimensions, the width's sample comes first.
          const std::size_t place = rank == 2 ? 2 - i : i;
          const T sample = moves[static_cast<std::size_t>(plane) * rank + place];
          windows[i] = moved_windows(sample, planes->sizes[i], (*kernel)[i], (*results)[i]);
        }
        return windows;
      });
    }
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
