#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "core/wrapping.h"
#include "engine/executorch/aten/convolution.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/triples.h"

namespace polystate {
namespace {

Reach reach_of(const Convolution& call, std::size_t i, std::int64_t tap) {
  const std::int64_t fine_size = call.fine()[i];
  const std::int64_t stride = call.stride[i];
  const std::int64_t offset = tap * call.dilation[i] - call.padding[i];
  const std::int64_t first = offset < 0 ? quotient_above(-offset, stride) : 0;
  const std::int64_t fine = first * stride + offset;
  if (fine >= fine_size) return {};
  const std::int64_t last = std::min(call.coarse()[i], first + (fine_size - 1 - fine) / stride + 1);
  return {first, fine, std::max<std::int64_t>(0, last - first)};
}

// The place of the input along dimension `i` that a tap has at a place of the result; none in the
// padding, or between a transposed one's.
std::optional<std::int64_t> input_place(const Convolution& call, std::size_t i, std::int64_t result,
                                        std::int64_t tap) {
  const std::int64_t stride = call.stride[i];
  std::int64_t place = tap * call.dilation[i];
  if (call.is_transposed) {
    place = result + call.padding[i] - place;
    if (place % stride != 0) return std::nullopt;
    place /= stride;
  } else {
    place += result * stride - call.padding[i];
  }
  if (place < 0 || place >= call.sizes[i]) return std::nullopt;
  return place;
}

// Adds multiples of elements to sums. The elements lie kValue apart and the sums kSum, or `stride`
// where that is 0.
template <std::int64_t kValue, std::int64_t kSum, typename T>
void add_multiples(const T* values, Computed<T> factor, std::int64_t count, Computed<T>* sums,
                   std::int64_t stride) {
  const std::int64_t from = kValue > 0 ? kValue : stride;
  const std::int64_t to = kSum > 0 ? kSum : stride;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<Computed<T>>(values[i * from]);
    sums[i * to] = wrapping_sum(sums[i * to], wrapping_product(x, factor));
  }
}

// The loop for a stride of 1, of 2, or of any.
template <typename T>
auto loop_for(const Convolution& call) {
  const std::int64_t stride = call.stride[2];
  const InstructionSet set = best_instruction_set();
  if (stride == 1) return vectorised<&add_multiples<1, 1, T>>(set);
  if (call.is_transposed) return vectorised<&add_multiples<1, 0, T>>(set);
  return stride == 2 ? vectorised<&add_multiples<2, 1, T>>(set)
                     : vectorised<&add_multiples<0, 1, T>>(set);
}

template <typename T>
class Taps {
 public:
  explicit Taps(const Convolution& call)
      : call_(call), add_(loop_for<T>(call)), reaches_(reaches_along(call, 2)) {}

  // Computes a row of results, `row` its number among all, in memory for sums.
  void compute(std::int64_t row, std::vector<Computed<T>>& sums) const {
    const std::int64_t height = row % call_.results[1];
    const std::int64_t depth = row / call_.results[1] % call_.results[0];
    const std::int64_t plane = row / (call_.results[1] * call_.results[0]);
    const std::int64_t channel = plane % (call_.groups * call_.outputs);
    const std::int64_t group = channel / call_.outputs;
    const std::int64_t inputs = plane / (call_.groups * call_.outputs) * call_.groups + group;
    const Computed<T> first = call_.bias ? static_cast<Computed<T>>(elements<const T>(
                                               *call_.bias)[static_cast<std::size_t>(channel)])
                                         : Computed<T>{};
    sums.assign(static_cast<std::size_t>(call_.results[2]), first);
    for (std::int64_t i = 0; i < call_.inputs; ++i) {
      const std::int64_t weights =
          call_.is_transposed ? (group * call_.inputs + i) * call_.outputs + channel % call_.outputs
                              : channel * call_.inputs + i;
      for (std::int64_t d = 0; d < call_.kernel[0]; ++d) {
        const auto at_depth = input_place(call_, 0, depth, d);
        if (!at_depth) continue;
        for (std::int64_t h = 0; h < call_.kernel[1]; ++h) {
          const auto at_height = input_place(call_, 1, height, h);
          if (!at_height) continue;
          const std::int64_t plane_of_input = (inputs * call_.inputs + i) * call_.sizes[0];
          const std::int64_t line = (plane_of_input + *at_depth) * call_.sizes[1] + *at_height;
          const std::int64_t taps = (weights * call_.kernel[0] + d) * call_.kernel[1] + h;
          add_line(elements<const T>(call_.input).data() + line * call_.sizes[2],
                   elements<const T>(call_.weight).data() + taps * call_.kernel[2], sums.data());
        }
      }
    }
    T* const out = elements<T>(call_.out).data() + row * call_.results[2];
    std::ranges::transform(sums, out, [](Computed<T> x) { return static_cast<T>(x); });
  }

 private:
  // Adds the taps along the width.
  void add_line(const T* line, const T* weights, Computed<T>* sums) const {
    for (std::size_t tap = 0; tap < reaches_.size(); ++tap) {
      const Reach& reach = reaches_[tap];
      const auto factor = static_cast<Computed<T>>(weights[tap]);
      const std::int64_t from = call_.is_transposed ? reach.coarse : reach.fine;
      const std::int64_t to = call_.is_transposed ? reach.fine : reach.coarse;
      add_(line + from, factor, reach.count, sums + to, call_.stride[2]);
    }
  }

  const Convolution& call_;
  decltype(loop_for<T>(call_)) add_;
  std::vector<Reach> reaches_;
};

}  // namespace

std::vector<Reach> reaches_along(const Convolution& call, std::size_t i) {
  std::vector<Reach> reaches;
  reaches.reserve(static_cast<std::size_t>(call.kernel[i]));
  for (std::int64_t tap = 0; tap < call.kernel[i]; ++tap) reaches.push_back(reach_of(call, i, tap));
  return reaches;
}

void convolve_by_taps(const Convolution& call) {
  const std::int64_t rows = call.out.element_count() / call.results[2];
  with_element_type(call.input.dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const Taps<T> taps(call);
      for_each_range(rows, call.depth() * call.results[2],
                     [&](std::int64_t first, std::int64_t last) {
                       std::vector<Computed<T>> sums;
                       for (std::int64_t row = first; row < last; ++row) taps.compute(row, sums);
                     });
    }
  });
}

}  // namespace polystate
