#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
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

// From so many elements on, another thread saves more time than it costs to wake.
constexpr std::int64_t kReadElementsWorthAThread = 8'192;

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

// The largest number that is a place of one of `size` elements: of more than 2^24, float has no
// number for some.
template <typename C>
C last_place(std::int64_t size) {
  const C last = static_cast<C>(size - 1);
  return static_cast<std::int64_t>(last) < size ? last : std::nextafter(last, C{0});
}

// A place that may be outside, moved to one of `size` elements, the last of which is at `last`, as
// the padding says.
template <typename C>
C padded(C place, std::int64_t size, C last, const Sampling& sampling) {
  const C inside = sampling.padding == Padding::kReflection
                       ? mirrored(place, size, sampling.align_corners)
                       : place;
  // Of what is no number, the first element in planes, the last one in volumes, as PyTorch has it.
  const C from_first = sampling.is_of_planes ? std::max(C{0}, inside) : std::max(inside, C{0});
  return std::min(last, from_first);
}

// The place of -1 to 1 among `size` elements.
template <typename C>
C place_among(C coordinate, std::int64_t size, const Sampling& sampling) {
  return sampling.align_corners ? (coordinate + 1) / 2 * static_cast<C>(size - 1)
                                : ((coordinate + 1) * static_cast<C>(size) - 1) / 2;
}

// Samples that are computed together.
constexpr std::size_t kSamples = 64;
template <typename Value>
using OfSamples = std::array<Value, kSamples>;

// The elements along a dimension that each sample is made of.
template <typename C>
struct Neighbours {
  std::size_t count = 0;
  std::array<OfSamples<std::int32_t>, 4> places{};  // 0 outside of the dimension
  std::array<OfSamples<C>, 4> weights{};
  std::array<OfSamples<std::uint32_t>, 4> is_inside{};
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

// The neighbours at whole places that may be outside.
template <typename C>
void put(const OfSamples<C>& at, std::int64_t size, std::size_t neighbour, Neighbours<C>& found) {
  const C last = last_place<C>(size);
  OfSamples<std::int32_t>& places = found.places[neighbour];
  OfSamples<std::uint32_t>& is_inside = found.is_inside[neighbour];
  for (std::size_t i = 0; i < kSamples; ++i) {
    const bool is_there = (at[i] >= C{0}) & (at[i] <= last);
    places[i] = static_cast<std::int32_t>(is_there ? at[i] : C{0});
    is_inside[i] = static_cast<std::uint32_t>(is_there);
  }
}

template <typename C>
void pad(OfSamples<C>& places, std::int64_t size, const Sampling& sampling) {
  if (sampling.padding == Padding::kZeros) return;
  const C last = last_place<C>(size);
  for (C& place : places) place = padded(place, size, last, sampling);
}

// Of the samples' coordinates from -1 to 1.
template <typename C>
void find_neighbours(const OfSamples<C>* coordinates, std::int64_t size, const Sampling* sampling,
                     Neighbours<C>* found) {
  OfSamples<C> places;
  for (std::size_t i = 0; i < kSamples; ++i) {
    places[i] = place_among((*coordinates)[i], size, *sampling);
  }
  if (sampling->interpolation == Interpolation::kCubic) {
    found->count = 4;
    OfSamples<C> at;
    for (std::size_t i = 0; i < kSamples; ++i) {
      at[i] = std::floor(places[i]) - 1;
      const std::array<C, 4> weights = cubic_weights(places[i] - std::floor(places[i]));
      for (std::size_t k = 0; k < 4; ++k) found->weights[k][i] = weights[k];
    }
    for (std::size_t k = 0; k < 4; ++k) {
      OfSamples<C> inside = at;
      pad(inside, size, *sampling);
      put(inside, size, k, *found);
      for (C& place : at) place += 1;
    }
    return;
  }
  pad(places, size, *sampling);
  OfSamples<C> first;
  if (sampling->interpolation == Interpolation::kNearest) {
    found->count = 1;
    for (std::size_t i = 0; i < kSamples; ++i) first[i] = std::nearbyint(places[i]);
    found->weights[0].fill(1);
    put(first, size, 0, *found);
    return;
  }
  found->count = 2;
  for (std::size_t i = 0; i < kSamples; ++i) {
    first[i] = std::floor(places[i]);
    const C part = places[i] - first[i];
    // PyTorch rounds this one way in planes and another in volumes, which shows from 2^23 on.
    found->weights[0][i] = sampling->is_of_planes ? 1 - part : first[i] + 1 - places[i];
    found->weights[1][i] = part;
  }
  put(first, size, 0, *found);
  for (C& place : first) place += 1;
  put(first, size, 1, *found);
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

// The elements that samples are made of, each the nth of all samples.
template <typename C>
struct Elements {
  std::size_t count = 0;
  bool are_inside = true;                            // all of them
  std::array<OfSamples<std::int32_t>, 16> places{};  // within a channel
  std::array<OfSamples<C>, 16> weights{};
  std::array<OfSamples<std::uint32_t>, 16> is_inside{};
  OfSamples<C> initial{};  // 0, or NaN for a sample without a place
};

// Those of neighbours in depth, height and width.
template <typename C>
void combine(const Volumes* volumes, const std::array<Neighbours<C>, 3>* around,
             Elements<C>* elements) {
  const auto& [depth, height, width] = *around;
  const auto rows = static_cast<std::int32_t>(volumes->sizes[1]);
  const auto columns = static_cast<std::int32_t>(volumes->sizes[2]);
  std::size_t at = 0;
  std::uint32_t are_inside = 1;
  for (std::size_t d = 0; d < depth.count; ++d) {
    for (std::size_t h = 0; h < height.count; ++h) {
      for (std::size_t w = 0; w < width.count; ++w, ++at) {
        for (std::size_t i = 0; i < kSamples; ++i) {
          const std::uint32_t is_inside =
              depth.is_inside[d][i] & height.is_inside[h][i] & width.is_inside[w][i];
          elements->places[at][i] =
              (depth.places[d][i] * rows + height.places[h][i]) * columns + width.places[w][i];
          elements->weights[at][i] =
              depth.weights[d][i] * height.weights[h][i] * width.weights[w][i];
          elements->is_inside[at][i] = is_inside;
          are_inside &= is_inside;
        }
      }
    }
  }
  elements->count = at;
  elements->are_inside = are_inside != 0;
}

// What sums begin with. PyTorch gives NaN for samples of a plane that lie nowhere, and 0 for those
// of a volume.
template <typename C>
C initial(const Volumes& volumes, const Sampling& sampling, bool is_finite) {
  const bool may_be_nowhere = volumes.rank == 2 && sampling.padding == Padding::kZeros &&
                              sampling.interpolation != Interpolation::kNearest;
  return may_be_nowhere && !is_finite ? std::numeric_limits<C>::quiet_NaN() : C{0};
}

// Adds the elements from the nth on, as many as there are indices, to the samples of one channel.
template <bool kAreInside, typename T, std::size_t... kIndices>
void add_some(const Elements<Computed<T>>& elements, std::size_t n, const T* channel,
              OfSamples<Computed<T>>& sums, std::index_sequence<kIndices...> /*each*/) {
  using C = Computed<T>;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const auto part = [&](std::size_t at) {
      const C product = static_cast<C>(channel[elements.places[at][i]]) * elements.weights[at][i];
      return kAreInside || elements.is_inside[at][i] != 0 ? product : C{0};
    };
    C sum = sums[i];
    ((sum += part(n + kIndices)), ...);
    sums[i] = sum;
  }
}

// The samples of one channel.
template <typename T>
void add_elements(const Elements<Computed<T>>* elements, const T* channel,
                  OfSamples<Computed<T>>* sums) {
  // Samples have 1, 4, 8 or 16 elements. Of four at a time, their sum is read and written once.
  constexpr std::size_t kTogether = 4;
  const auto add_all = [&]<bool kAreInside>() {
    if (elements->count == 1) {
      add_some<kAreInside>(*elements, 0, channel, *sums, std::make_index_sequence<1>());
      return;
    }
    for (std::size_t at = 0; at < elements->count; at += kTogether) {
      add_some<kAreInside>(*elements, at, channel, *sums, std::make_index_sequence<kTogether>());
    }
  };
  *sums = elements->initial;
  if (elements->are_inside) {
    add_all.template operator()<true>();
  } else {
    add_all.template operator()<false>();
  }
}

// Computes samples of one item of the batch, at most `kSamples` of them in one go.
template <typename T>
class Sampler {
  using C = Computed<T>;

 public:
  Sampler(const Volumes& volumes, const Sampling& sampling)
      : volumes_(volumes), sampling_(sampling) {
    if (volumes.rank == 3) return;
    around_[0].count = 1;
    around_[0].weights[0].fill(1);
    around_[0].is_inside[0].fill(1);
  }

  // `grid` has each sample's width, height and depth.
  void read(const T* grid, std::size_t count) {
    std::array<OfSamples<C>, 3> coordinates{};
    for (std::size_t i = 0; i < count; ++i) {
      bool is_finite = true;
      for (std::size_t dim = 0; dim < volumes_.rank; ++dim) {
        const C coordinate = static_cast<C>(*grid++);
        const std::int64_t size = volumes_.sizes[2 - dim];
        coordinates[dim][i] = coordinate;
        is_finite = is_finite && std::isfinite(place_among(coordinate, size, sampling_));
      }
      elements_.initial[i] = initial<C>(volumes_, sampling_, is_finite);
    }
    for (std::size_t dim = 0; dim < volumes_.rank; ++dim) {
      find_(&coordinates[dim], volumes_.sizes[2 - dim], &sampling_, &around_[2 - dim]);
    }
    combine_(&volumes_, &around_, &elements_);
  }

  void write(const T* channel, T* results, std::size_t count) {
    add_(&elements_, channel, &sums_);
    for (std::size_t i = 0; i < count; ++i) results[i] = static_cast<T>(sums_[i]);
  }

 private:
  Volumes volumes_;
  Sampling sampling_;
  decltype(&find_neighbours<C>) find_ = vectorised<&find_neighbours<C>>(best_instruction_set());
  decltype(&combine<C>) combine_ = vectorised<&combine<C>>(best_instruction_set());
  decltype(&add_elements<T>) add_ = vectorised<&add_elements<T>>(best_instruction_set());
  std::array<Neighbours<C>, 3> around_{};
  Elements<C> elements_;
  OfSamples<C> sums_{};
};

template <typename T>
void fill(const Volumes& volumes, const Sampling& sampling, std::span<const T> input,
          std::span<const T> grid, std::span<T> out) {
  constexpr auto kMost = static_cast<std::int64_t>(kSamples);
  const std::int64_t parts = (volumes.samples + kMost - 1) / kMost;
  const auto batch = static_cast<std::int64_t>(grid.size() / volumes.rank) / volumes.samples;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kReadElementsWorthAThread / (8 * kMost * volumes.channels));
  parallel_for(batch * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    const auto sampler = std::make_unique<Sampler<T>>(volumes, sampling);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t item = i / parts;
      const std::int64_t first = i % parts * kMost;
      const auto count = static_cast<std::size_t>(std::min(kMost, volumes.samples - first));
      const auto place = static_cast<std::size_t>(item * volumes.samples + first);
      sampler->read(grid.data() + place * volumes.rank, count);
      for (std::int64_t c = item * volumes.channels; c < (item + 1) * volumes.channels; ++c) {
        sampler->write(input.data() + c * volumes.elements(),
                       out.data() + c * volumes.samples + first, count);
      }
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
  if (volumes.elements() > std::numeric_limits<std::int32_t>::max()) {
    return refused("input has " + std::to_string(volumes.elements()) +
                   " elements a channel, more than 2147483647");
  }
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
