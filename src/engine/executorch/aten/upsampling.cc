#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/resampling.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that give the last dimensions of a tensor [batch, channels, ...] other sizes. Each
// dimension is resampled by itself: an element of the result is a weighted sum of some elements.
namespace polystate {
namespace {

// From so many products on, another thread saves more time than it costs to wake.
constexpr std::int64_t kProductsWorthAThread = 16'384;

// Weighted sums of rows of elements: result[i] = sum over t of weights[t] * plane[places[t]][i].
template <typename C, typename From, typename To>
void add_rows(const From* plane, std::int64_t inner, std::span<const std::int64_t> places,
              const C* weights, To* result) {
  constexpr std::int64_t kBlock = 64;
  std::array<C, kBlock> sums;
  for (std::int64_t begin = 0; begin < inner; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, inner - begin);
    std::fill_n(sums.begin(), count, C{0});
    for (std::size_t tap = 0; tap < places.size(); ++tap) {
      const From* const row = plane + places[tap] * inner + begin;
      for (std::int64_t i = 0; i < count; ++i) {
        sums[static_cast<std::size_t>(i)] += static_cast<C>(row[i]) * weights[tap];
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      result[begin + i] = static_cast<To>(sums[static_cast<std::size_t>(i)]);
    }
  }
}

// The same for a plane of one dimension, of which each result has `kTaps` elements, or as many as
// its count says.
template <std::int64_t kTaps, typename C, typename From, typename To>
void add_elements(const From* plane, const Taps<C>& taps, To* results) {
  const std::int64_t* places = taps.places.data();
  const C* weights = taps.weights.data();
  for (std::int64_t i = 0; i < taps.results; ++i, places += taps.taps, weights += taps.taps) {
    const std::int64_t count = kTaps > 0 ? kTaps : taps.counts[static_cast<std::size_t>(i)];
    C sum{0};
    for (std::int64_t tap = 0; tap < count; ++tap) {
      sum += static_cast<C>(plane[places[tap]]) * weights[tap];
    }
    results[i] = static_cast<To>(sum);
  }
}

// Resamples the last dimension of [outer, size].
template <typename C, typename From, typename To>
void resample_last(std::span<const From> from, const Taps<C>& taps, std::span<To> to) {
  const auto add = !taps.counts.empty() ? &add_elements<0, C, From, To>
                   : taps.taps == 2     ? &add_elements<2, C, From, To>
                                        : &add_elements<4, C, From, To>;
  const auto planes = static_cast<std::int64_t>(to.size()) / taps.results;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kProductsWorthAThread / (taps.results * taps.taps));
  parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      add(from.data() + plane * taps.size, taps, to.data() + plane * taps.results);
    }
  });
}

// Resamples the middle dimension of [outer, size, inner].
template <typename C, typename From, typename To>
void resample(std::span<const From> from, std::int64_t inner, const Taps<C>& taps,
              std::span<To> to) {
  if (inner == 1) return resample_last(from, taps, to);
  const auto add = vectorised<&add_rows<C, From, To>>(best_instruction_set());
  const auto rows = static_cast<std::int64_t>(to.size()) / inner;
  const std::int64_t grain = std::max<std::int64_t>(1, kProductsWorthAThread / (inner * taps.taps));
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row % taps.results;
      const std::int64_t count =
          taps.counts.empty() ? taps.taps : taps.counts[static_cast<std::size_t>(at)];
      const std::int64_t tap = at * taps.taps;
      add(from.data() + row / taps.results * taps.size * inner, inner,
          std::span(taps.places.data() + tap, static_cast<std::size_t>(count)),
          taps.weights.data() + tap, to.data() + row * inner);
    }
  });
}

// Weights as PyTorch has those for bytes: as whole numbers below 2^15, and how many bits of them
// are of a fraction. Those of one place are one weight first.
struct ByteTaps {
  Taps<std::int64_t> taps;
  int bits = 0;
};

ByteTaps byte_taps(Taps<double> exact) {
  double most = 0;
  for (std::size_t i = 0; i < exact.weights.size(); ++i) {
    const std::size_t begin = i - i % static_cast<std::size_t>(exact.taps);
    for (std::size_t earlier = begin; earlier < i; ++earlier) {
      if (exact.places[earlier] == exact.places[i]) {
        exact.weights[earlier] += std::exchange(exact.weights[i], 0.0);
        break;
      }
    }
  }
  for (const double weight : exact.weights) most = std::max(most, weight);
  ByteTaps bytes;
  while (bytes.bits < 22 && 0.5 + most * std::ldexp(2.0, bytes.bits) < 32'768) ++bytes.bits;
  bytes.taps = {.size = exact.size,
                .results = exact.results,
                .taps = exact.taps,
                .places = std::move(exact.places),
                .counts = std::move(exact.counts)};
  for (const double weight : exact.weights) {
    bytes.taps.weights.push_back(std::llround(std::ldexp(weight, bytes.bits)));
  }
  return bytes;
}

void resample_bytes(std::span<const std::uint8_t> from, std::int64_t inner, const ByteTaps& taps,
                    std::span<std::uint8_t> to) {
  std::vector<std::int64_t> sums(to.size());
  resample(from, inner, taps.taps, std::span(sums));
  const auto one = static_cast<std::int64_t>(std::ldexp(1.0, taps.bits));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    to[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>((sums[i] + one / 2) / one, 0, 255));
  }
}

// Whether PyTorch leaves a dimension that keeps its size as it is, whatever the scale.
bool keeps_equal_sizes(ResamplingMethod method, bool is_of_bytes) {
  return method == ResamplingMethod::kSmoothLinear || method == ResamplingMethod::kSmoothCubic ||
         (method == ResamplingMethod::kCubic && is_of_bytes);
}

// A type's resampling of one dimension, from elements to elements.
template <typename T>
void resample_once(std::span<const T> from, std::int64_t inner, const Resampling& way,
                   std::span<T> to) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (way.size == way.results && keeps_equal_sizes(way.method, std::is_same_v<T, std::uint8_t>)) {
    std::ranges::copy(from, to.begin());
    return;
  }
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    resample_bytes(from, inner, byte_taps(taps_along<double>(way)), to);
  } else {
    resample(from, inner, taps_along<C>(way), to);
  }
}

// Resamples the last dimensions of a tensor of a shape, the last one first.
template <typename T>
Status resample_all(std::span<const T> self, std::vector<std::int64_t> shape,
                    const std::vector<Resampling>& ways, std::span<T> out) {
  std::vector<T> before;
  std::vector<T> after;
  std::int64_t inner = 1;
  for (std::size_t step = ways.size(); step-- > 0;) {
    const Resampling& way = ways[step];
    shape[step + 2] = way.results;
    double count = 1;
    std::size_t size = 1;
    for (const std::int64_t each : shape) {
      count *= static_cast<double>(each);
      size *= static_cast<std::size_t>(each);
    }
    if (count > std::numeric_limits<std::int32_t>::max()) return refused("too many elements");
    const std::span<const T> from = step + 1 == ways.size() ? self : before;
    if (step == 0) {
      resample_once<T>(from, inner, way, out);
    } else {
      after.resize(size);
      resample_once<T>(from, inner, way, after);
    }
    inner *= way.results;
    std::swap(before, after);
  }
  return {};
}

// Which elements of a dimension the results are, and how many elements lie from one to the next.
struct Picks {
  std::vector<std::int64_t> places;
  std::int64_t elements_apart = 0;
  std::int64_t results_apart = 0;
};

// Fills a plane, or a part of one. A part that is the one before it is copied from there.
template <typename T>
void pick(const T* elements, std::span<const Picks> dimensions, T* results) {
  const auto& [places, elements_apart, results_apart] = dimensions.front();
  if (dimensions.size() == 1) {
    for (const std::int64_t place : places) *results++ = elements[place];
    return;
  }
  for (std::size_t i = 0; i < places.size(); ++i, results += results_apart) {
    if (i > 0 && places[i] == places[i - 1]) {
      std::copy_n(results - results_apart, results_apart, results);
    } else {
      pick(elements + places[i] * elements_apart, dimensions.subspan(1), results);
    }
  }
}

// The elements that the results are, of any type.
template <typename T>
Status pick_all(std::span<const T> self, const std::vector<Resampling>& ways, std::span<T> out) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (out.size() > std::numeric_limits<std::int32_t>::max()) return refused("too many elements");
  std::vector<Picks> dimensions(ways.size());
  std::int64_t elements = 1;
  std::int64_t results = 1;
  for (std::size_t i = ways.size(); i-- > 0;) {
    dimensions[i] = {taps_along<C>(ways[i]).places, elements, results};
    elements *= ways[i].size;
    results *= ways[i].results;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kProductsWorthAThread / results);
  const std::int64_t planes = static_cast<std::int64_t>(out.size()) / results;
  parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      pick<T>(self.data() + plane * elements, dimensions, out.data() + plane * results);
    }
  });
  return {};
}

// Sums of elements of 16 bits are rounded once, behind the last dimension.
template <typename T>
Status resample_tensor(const TensorArgument& self, const std::vector<Resampling>& ways,
                       const TensorArgument& out) {
  const std::vector<std::int64_t> shape(self.shape().begin(), self.shape().end());
  if (picks_elements(ways[0].method)) {
    return pick_all<T>(elements<const T>(self), ways, elements<T>(out));
  }
  if (sizeof(T) != 2) {
    return resample_all<T>(elements<const T>(self), shape, ways, elements<T>(out));
  }
  const std::vector<float> wide = converted<float>(self);
  std::vector<float> sums(static_cast<std::size_t>(out.element_count()));
  if (const Status status = resample_all<float>(wide, shape, ways, sums); !status) return status;
  std::ranges::transform(sums, elements<T>(out).begin(), [](float x) { return static_cast<T>(x); });
  return {};
}

// Of what types a method takes elements.
bool takes(ResamplingMethod method, std::size_t rank, DType dtype) {
  const bool is_float = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  const bool is_short = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  const bool is_byte = dtype == DType::kUInt8;
  switch (method) {
    case ResamplingMethod::kNearest:
    case ResamplingMethod::kNearestExact:
      return is_float || is_short || is_byte;
    case ResamplingMethod::kLinear:
    case ResamplingMethod::kCubic:
      return is_float || is_short || (is_byte && rank == 2);
    case ResamplingMethod::kSmoothLinear:
    case ResamplingMethod::kSmoothCubic:
      break;
  }
  return is_float || is_byte;
}

// Whether a scale is about that of the sizes, which limits how many elements are read.
bool has_fitting_scale(const Resampling& way) {
  if (way.scale && !std::isfinite(1 / *way.scale)) return false;
  const double taps = static_cast<double>(taps_of<double>(way)) * static_cast<double>(way.results);
  return taps <= 8.0 * static_cast<double>(way.size + way.results);
}

// How each of the last dimensions is resampled; `first_scale` is the place of its first scale.
Result<std::vector<Resampling>> ways_of(ProgramArguments& arguments, const TensorArgument& self,
                                        const std::vector<std::int64_t>& sizes,
                                        ResamplingMethod method, std::size_t first_scale) {
  constexpr std::int64_t kSmallPlane = 128;  // height and width of the results together
  const bool is_small_plane =
      sizes.size() == 2 && sizes[0] <= kSmallPlane && sizes[1] <= kSmallPlane - sizes[0];
  const bool align_corners = !picks_elements(method) && arguments.boolean(2);
  std::vector<Resampling> ways;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = self.shape()[i + 2];
    if (size < 1 || sizes[i] < 1) return refused("a size is not positive");
    ways.push_back({.method = method,
                    .size = size,
                    .results = sizes[i],
                    .align_corners = align_corners,
                    .scale = arguments.optional_scalar(first_scale + i),
                    .repeats_elements = is_small_plane && method == ResamplingMethod::kNearest});
  }
  if (!arguments.status()) return arguments.status().error();
  return ways;
}

// The arguments of PyTorch's operators: self, output_size, align_corners of some methods, then a
// scale for each dimension or None.
Status upsample(ProgramArguments& arguments, ResamplingMethod method, std::size_t rank) {
  const TensorArgument self = arguments.tensor(0);
  const std::vector<std::int64_t> sizes = arguments.integers(1);
  const std::size_t first_scale = picks_elements(method) ? 2 : 3;
  if (!arguments.status()) return arguments.status();
  if (const Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  if (static_cast<std::size_t>(self.rank()) != rank + 2 || sizes.size() != rank) {
    return refused("self or output_size has another number of dimensions");
  }
  if (!takes(method, rank, self.dtype())) return refused("self's type is not one of resampling's");
  const auto ways = ways_of(arguments, self, sizes, method, first_scale);
  if (!ways) return ways.error();
  std::vector<std::int64_t> shape(self.shape().begin(), self.shape().begin() + 2);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  const Result<TensorArgument> out = arguments.result_at(first_scale + rank, self.dtype(), shape);
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  if (!std::ranges::all_of(*ways, has_fitting_scale)) {
    return refused("a scale is far from that of the sizes");
  }
  return with_element_type(self.dtype(), [&]<typename T>() -> Status {
    if constexpr (kIsFloat<T> || std::is_same_v<T, std::uint8_t>) {
      return resample_tensor<T>(self, *ways, *out);
    } else {
      return {};  // refused above
    }
  });
}

template <const auto& kText, ResamplingMethod kMethod, std::size_t kRank>
struct Upsample {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) { return upsample(arguments, kMethod, kRank); }
};

constexpr char kNearest1d[] =
    "aten::upsample_nearest1d.out(Tensor self, SymInt[1] output_size, float? scales=None, *, "
    "Tensor(a!) out) -> Tensor(a!)";
constexpr char kNearest2d[] =
    "aten::upsample_nearest2d.out(Tensor self, SymInt[2] output_size, float? scales_h=None, "
    "float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kNearest3d[] =
    "aten::upsample_nearest3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, "
    "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kNearestExact1d[] =
    "aten::_upsample_nearest_exact1d.out(Tensor self, SymInt[1] output_size, float? "
    "scales=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kNearestExact2d[] =
    "aten::_upsample_nearest_exact2d.out(Tensor self, SymInt[2] output_size, float? "
    "scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kNearestExact3d[] =
    "aten::_upsample_nearest_exact3d.out(Tensor self, SymInt[3] output_size, float? "
    "scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kLinear1d[] =
    "aten::upsample_linear1d.out(Tensor self, SymInt[1] output_size, bool align_corners, float? "
    "scales=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kBilinear2d[] =
    "aten::upsample_bilinear2d.out(Tensor self, SymInt[2] output_size, bool align_corners, "
    "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kTrilinear3d[] =
    "aten::upsample_trilinear3d.out(Tensor self, SymInt[3] output_size, bool align_corners, "
    "float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kBicubic2d[] =
    "aten::upsample_bicubic2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kSmoothBilinear2d[] =
    "polystate_aten::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool "
    "align_corners, "
    "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kSmoothBicubic2d[] =
    "aten::_upsample_bicubic2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, "
    "float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)";

}  // namespace

std::span<const ListedOperator> upsampling_operators() {
  return listed<Upsample<kNearest1d, ResamplingMethod::kNearest, 1>,
                Upsample<kNearest2d, ResamplingMethod::kNearest, 2>,
                Upsample<kNearest3d, ResamplingMethod::kNearest, 3>,
                Upsample<kNearestExact1d, ResamplingMethod::kNearestExact, 1>,
                Upsample<kNearestExact2d, ResamplingMethod::kNearestExact, 2>,
                Upsample<kNearestExact3d, ResamplingMethod::kNearestExact, 3>,
                Upsample<kLinear1d, ResamplingMethod::kLinear, 1>,
                Upsample<kBilinear2d, ResamplingMethod::kLinear, 2>,
                Upsample<kTrilinear3d, ResamplingMethod::kLinear, 3>,
                Upsample<kBicubic2d, ResamplingMethod::kCubic, 2>,
                Upsample<kSmoothBilinear2d, ResamplingMethod::kSmoothLinear, 2>,
                Upsample<kSmoothBicubic2d, ResamplingMethod::kSmoothCubic, 2>>();
}

}  // namespace polystate
