#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// Operators that read tensors at places between their elements.
namespace polystate {
namespace {

// Elements that make it worth to wake a thread.
constexpr std::int64_t kWorthAThread = 8'192;

Error refused(const std::string& why) { return Error{ErrorCode::kEngine, why}; }

// PyTorch's numbers of these.
enum class Interpolation : std::uint8_t { kLinear, kNearest, kCubic };
enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };

struct Sampling {
  Interpolation interpolation = Interpolation::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  bool is_of_planes = false;
};

// A place of `size` elements, mirrored at the first and the last one, or half an element out.
template <typename C>
C mirrored(C place, std::int64_t size, bool align_corners) {
  const C low = align_corners ? C{0} : C(-0.5);
  const C length = align_corners ? static_cast<C>(size - 1) : static_cast<C>(size);
  if (length == 0) return C{0};
  const C from = std::abs(place - low);
  const C rest = std::fmod(from, length);
  const bool is_turned = std::fmod(std::floor(from / length), C{2}) != 0;
  return (is_turned ? length - rest : rest) + low;
}

// A place that may be outside, moved to one of `size` elements as the padding says.
template <typename C>
C padded(C place, std::int64_t size, const Sampling& sampling) {
  if (sampling.padding == Padding::kZeros) return place;
  const C inside = sampling.padding == Padding::kReflection
                       ? mirrored(place, size, sampling.align_corners)
                       : place;
  // Of what is no number, the first element in planes, the last one in volumes, as PyTorch has it.
  const C from_first = sampling.is_of_planes ? std::max(C{0}, inside) : std::max(inside, C{0});
  return std::min(static_cast<C>(size - 1), from_first);
}

// The place of -1 to 1 among `size` elements.
template <typename C>
C place_among(C coordinate, std::int64_t size, const Sampling& sampling) {
  return sampling.align_corners ? (coordinate + 1) / 2 * static_cast<C>(size - 1)
                                : ((coordinate + 1) * static_cast<C>(size) - 1) / 2;
}

// The elements along a dimension that a sample is made of. Those outside of it are left out.
template <typename C>
struct Neighbours {
  std::array<std::int64_t, 4> places{};
  std::array<C, 4> weights{};
  std::size_t count = 0;

  void add(C place, C weight, std::int64_t size) {
    if (!(place >= 0 && place < static_cast<C>(size))) return;
    places[count] = static_cast<std::int64_t>(place);
    weights[count++] = weight;
  }
};

// The weights of the four neighbours of a place, `part` of the way from the second to the third, by
// Keys' cubic convolution with a = -0.75.
template <typename C>
std::array<C, 4> cubic_weights(C part) {
  constexpr C kA = -0.75;
  const auto near = [](C x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](C x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(part + 1), near(part), near(1 - part), far(2 - part)};
}

template <typename C>
Neighbours<C> neighbours(C coordinate, std::int64_t size, const Sampling& sampling) {
  const C exact = place_among(coordinate, size, sampling);
  Neighbours<C> found;
  if (sampling.interpolation == Interpolation::kCubic) {
    const C first = std::floor(exact);
    C place = first - 1;
    for (const C weight : cubic_weights(exact - first)) {
      found.add(padded(place, size, sampling), weight, size);
      place += 1;
    }
    return found;
  }
  const C place = padded(exact, size, sampling);
  if (sampling.interpolation == Interpolation::kNearest) {
    found.add(std::nearbyint(place), C{1}, size);
  } else {
    const C first = std::floor(place);
    found.add(first, first + 1 - place, size);
    found.add(first + 1, place - first, size);
  }
  return found;
}

// The shapes of one call: input [batch, channels, depth, height, width], grid [batch, depth,
// height, width, 3]; without the depth, input [batch, channels, height, width] and grid [batch,
// height, width, 2].
struct Volumes {
  std::int64_t channels = 0;
  std::size_t rank = 3;  // 2 without depth, whose size is 1 then
  std::array<std::int64_t, 3> sizes{1, 1, 1};
  std::int64_t samples = 0;  // of a volume

  [[nodiscard]] std::int64_t elements() const { return sizes[0] * sizes[1] * sizes[2]; }
};

// Whether a sample of a plane lies somewhere. PyTorch gives NaN for those that do not, and 0 for
// those of a volume.
template <typename T>
bool has_place(const Volumes& volumes, const Sampling& sampling, const T* grid) {
  if (sampling.padding != Padding::kZeros || sampling.interpolation == Interpolation::kNearest) {
    return true;
  }
  return std::all_of(grid, grid + volumes.rank, [](T coordinate) {
    return std::isfinite(static_cast<Computed<T>>(coordinate));
  });
}

// Fills in all channels of one sample; `grid` has its width, height and depth.
template <typename T>
void sample(const Volumes& volumes, const Sampling& sampling, const T* input, const T* grid,
            T* result) {
  using C = Computed<T>;
  std::array<Neighbours<C>, 3> around;
  if (volumes.rank == 2) around[0].add(C{0}, C{1}, 1);
  for (std::size_t i = 0; i < volumes.rank; ++i) {
    around[2 - i] = neighbours(static_cast<C>(grid[i]), volumes.sizes[2 - i], sampling);
  }
  const bool is_known = volumes.rank == 3 || has_place(volumes, sampling, grid);
  for (std::int64_t channel = 0; channel < volumes.channels; ++channel) {
    const T* const volume = input + channel * volumes.elements();
    C sum = is_known ? C{0} : std::numeric_limits<C>::quiet_NaN();
    for (std::size_t d = 0; d < around[0].count; ++d) {
      for (std::size_t h = 0; h < around[1].count; ++h) {
        const std::int64_t row = around[0].places[d] * volumes.sizes[1] + around[1].places[h];
        const C weight = around[0].weights[d] * around[1].weights[h];
        for (std::size_t w = 0; w < around[2].count; ++w) {
          const std::int64_t place = row * volumes.sizes[2] + around[2].places[w];
          sum += static_cast<C>(volume[place]) * weight * around[2].weights[w];
        }
      }
    }
    result[channel * volumes.samples] = static_cast<T>(sum);
  }
}

template <typename T>
void fill(const Volumes& volumes, const Sampling& sampling, std::span<const T> input,
          std::span<const T> grid, std::span<T> out) {
  const auto count = static_cast<std::int64_t>(grid.size() / volumes.rank);
  const std::int64_t grain = std::max<std::int64_t>(1, kWorthAThread / (8 * volumes.channels));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t item = i / volumes.samples * volumes.channels;
      sample(volumes, sampling, input.data() + item * volumes.elements(),
             grid.data() + i * static_cast<std::int64_t>(volumes.rank),
             out.data() + item * volumes.samples + i % volumes.samples);
    }
  });
}

// The arguments of PyTorch's operators: input, grid, interpolation_mode, padding_mode,
// align_corners.
Status sample_grid(ProgramArguments& arguments, std::size_t rank) {
  const TensorArgument input = arguments.tensor(0);
  const TensorArgument grid = arguments.tensor(1);
  const std::int64_t interpolation = arguments.integer(2);
  const std::int64_t padding = arguments.integer(3);
  const bool align_corners = arguments.boolean(4);
  if (!arguments.status()) return arguments.status();
  if (const Status status = require_row_major(input, "input"); !status) return status;
  if (const Status status = require_row_major(grid, "grid"); !status) return status;
  const int dimensions = static_cast<int>(rank) + 2;
  if (input.rank() != dimensions || grid.rank() != dimensions ||
      grid.size(dimensions - 1) != static_cast<std::int64_t>(rank) ||
      grid.size(0) != input.size(0) || grid.dtype() != input.dtype()) {
    return refused("input and grid do not fit each other");
  }
  const std::int64_t modes = rank == 2 ? 3 : 2;
  if (interpolation < 0 || interpolation >= modes || padding < 0 || padding > 2) {
    return refused("no such mode of interpolation or padding");
  }
  Volumes volumes{.channels = input.size(1), .rank = rank};
  std::vector<std::int64_t> shape = {input.size(0), input.size(1)};
  for (std::size_t i = 0; i < rank; ++i) {
    const int dimension = static_cast<int>(i);
    const std::int64_t size = input.size(dimension + 2);
    if (size < 1) return refused("input has no elements");
    volumes.sizes[3 - rank + i] = size;
    shape.push_back(grid.size(dimension + 1));
  }
  const Result<TensorArgument> out = arguments.result_at(5, input.dtype(), shape);
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  volumes.samples = out->element_count() / (input.size(0) * input.size(1));
  const Sampling sampling{.interpolation = static_cast<Interpolation>(interpolation),
                          .padding = static_cast<Padding>(padding),
                          .align_corners = align_corners,
                          .is_of_planes = rank == 2};
  return with_element_type(input.dtype(), [&]<typename T>() -> Status {
    if constexpr (kIsFloat<T>) {
      fill<T>(volumes, sampling, elements<const T>(input), elements<const T>(grid),
              elements<T>(*out));
      return {};
    } else {
      return refused("input is of integers");
    }
  });
}

// ExecuTorch's own loses NaN.
struct GridSampler2d {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, int "
      "padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return sample_grid(arguments, 2); }
};

struct GridSampler3d {
  static constexpr OperatorSchema kSchema{
      "aten::grid_sampler_3d.out(Tensor input, Tensor grid, int interpolation_mode, int "
      "padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return sample_grid(arguments, 3); }
};

}  // namespace

std::span<const ListedOperator> sampling_operators() {
  return listed<GridSampler2d, GridSampler3d>();
}

}  // namespace polystate
