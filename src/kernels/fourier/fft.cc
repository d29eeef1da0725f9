#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "kernels/fourier/passes.h"
#include "kernels/fourier/plan.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// From so many elements on, another thread saves more time than it costs to wake.
constexpr std::int64_t kElementsWorthAThread = 8'192;
// Sequences that are transformed side by side, fewer where their values would leave the cache. One
// by one are those that are too few for the processor's vectors, and long ones whose elements lie
// together: to lay them side by side would take longer.
constexpr std::int64_t kTogether = 16;
constexpr std::int64_t kFewestTogether = 4;
constexpr std::int64_t kLong = 64;
constexpr std::int64_t kCachedBytes = 262'144;

// A row-major tensor seen along one of its dimensions.
struct Sequences {
  std::int64_t size = 1;
  std::int64_t inner = 1;  // elements between two of a sequence

  [[nodiscard]] std::int64_t start(std::int64_t sequence) const {
    return sequence / inner * size * inner + sequence % inner;
  }
};

// Consecutive ones.
struct Group {
  std::int64_t first;
  std::int64_t count;
};

// Every `step`th element of a sequence from `first` on.
struct Places {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

// What is copied: places of a group of sequences.
struct Copied {
  const Sequences& of;
  const Group& group;
  Places places;

  [[nodiscard]] std::int64_t step() const { return places.step * of.inner; }
  // Of a sequence of the group.
  [[nodiscard]] std::int64_t start(std::int64_t lane) const {
    return of.start(group.first + lane) + places.first * of.inner;
  }
};

// The elements of one sequence.
template <typename Work>
void for_each_place(const Copied& copied, const Work& work) {
  const std::int64_t start = copied.start(0);
  const std::int64_t step = copied.step();
  const std::int64_t count = copied.places.count;
  if (step == 1) {  // as constants, so that the compiler vectorises
    for (std::int64_t i = 0; i < count; ++i) work(start + i, i);
  } else if (step == 2) {
    for (std::int64_t i = 0; i < count; ++i) work(start + 2 * i, i);
  } else {
    for (std::int64_t i = 0; i < count; ++i) work(start + i * step, i);
  }
}

// The elements of sequences that lie beside one another.
template <typename Work>
void for_each_row(const Copied& copied, const Work& work) {
  const std::int64_t lanes = copied.group.count;
  const std::int64_t start = copied.start(0);
  const std::int64_t step = copied.step();
  for (std::int64_t i = 0; i < copied.places.count; ++i) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      work(start + i * step + lane, i * lanes + lane);
    }
  }
}

// Calls `work(element, at)`, of the tensor and of rows [places, group], near one another.
template <typename Work>
void for_each_element(const Copied& copied, const Work& work) {
  const auto& [of, group, places] = copied;
  if (group.count == 1) return for_each_place(copied, work);
  if (group.first % of.inner + group.count <= of.inner) return for_each_row(copied, work);
  constexpr std::int64_t kBlock = 64;
  const std::int64_t step = copied.step();
  for (std::int64_t block = 0; block < places.count; block += kBlock) {
    const std::int64_t end = std::min(block + kBlock, places.count);
    for (std::int64_t lane = 0; lane < group.count; ++lane) {
      const std::int64_t start = copied.start(lane);
      for (std::int64_t i = block; i < end; ++i) work(start + i * step, i * group.count + lane);
    }
  }
}

template <typename T>
void gather(const T* __restrict from, const Copied& copied, T* __restrict rows) {
  for_each_element(copied,
                   [&](std::int64_t element, std::int64_t at) { rows[at] = from[element]; });
}

template <typename T>
void scatter(const T* __restrict rows, T scale, const Copied& copied, T* __restrict to) {
  for_each_element(copied,
                   [&](std::int64_t element, std::int64_t at) { to[element] = scale * rows[at]; });
}

// Memory for the sequences of one group: as rows, and for a transform to work in.
template <typename T>
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t lanes) : part_(rows * lanes) {
    memory_.resize(static_cast<std::size_t>(4 * part_));
  }
  Parts<T> values() { return {memory_.data(), memory_.data() + part_}; }
  Parts<T> scratch() { return {memory_.data() + 2 * part_, memory_.data() + 3 * part_}; }

 private:
  std::int64_t part_;
  std::vector<T> memory_;
};

// Calls `work(rows, group)` for groups that are all `of` a tensor's `count` sequences; the rows
// have room for `size` elements of each.
template <typename T, typename Work>
void for_each_group(const Sequences& of, std::int64_t count, std::int64_t size, const Work& work) {
  const std::int64_t fits = kCachedBytes / (size * 4 * static_cast<std::int64_t>(sizeof(T)));
  const bool one_by_one = fits < kFewestTogether || (of.inner == 1 && size > kLong);
  const std::int64_t together = one_by_one ? 1 : std::min(fits, kTogether);
  const std::int64_t groups = (kElementsWorthAThread / size + together) / together;
  parallel_for(count, groups * together, [&](std::int64_t first, std::int64_t last) {
    Rows<T> rows(size, std::min(together, last - first));
    while (first < last) {
      const std::int64_t left = std::min(together, last - first);
      const std::int64_t taken = left < kFewestTogether ? 1 : left;
      work(rows, Group{first, taken});
      first += taken;
    }
  });
}

// The arguments that the operators have in common.
struct Call {
  NamedTensor real;
  std::optional<NamedTensor> imag;
  std::int64_t dimension;
  std::int64_t normalization;
  TensorArgument out;

  // The scale of a transform of so many elements, as PyTorch numbers normalizations.
  template <typename T>
  [[nodiscard]] T scale(std::int64_t size) const {
    const auto elements = static_cast<double>(size);
    if (normalization == 0) return T(1);
    return static_cast<T>(normalization == 1 ? 1 / std::sqrt(elements) : 1 / elements);
  }
};

void check(Requirements& require, const Call& call) {
  const TensorArgument& real = call.real.tensor;
  require.holds(real.dtype() == DType::kFloat32 || real.dtype() == DType::kFloat64,
                std::string(call.real.name) + " is not of float32 or float64");
  require.holds(real.is_row_major(), std::string(call.real.name) + " is not row-major");
  require.holds(call.dimension >= 0 && call.dimension < real.rank(),
                "dimension " + std::to_string(call.dimension) + " of a tensor of " +
                    std::to_string(real.rank()));
  require.holds(call.normalization >= 0 && call.normalization <= 2,
                "normalization is " + std::to_string(call.normalization) + "; it is 0, 1 or 2");
  if (call.imag) {
    const TensorArgument& imag = call.imag->tensor;
    require.holds(imag.dtype() == real.dtype() && imag.is_row_major() &&
                      std::ranges::equal(imag.shape(), real.shape()),
                  "imag is not as real is");
  }
}

Sequences sequences_of(const TensorArgument& tensor, std::int64_t dimension) {
  Sequences sequences{tensor.size(static_cast<int>(dimension)), 1};
  for (int i = static_cast<int>(dimension) + 1; i < tensor.rank(); ++i) {
    sequences.inner *= tensor.size(i);
  }
  return sequences;
}

// A tensor's shape with another size of a dimension.
std::vector<std::int64_t> resized(const TensorArgument& tensor, std::int64_t dimension,
                                  std::int64_t size) {
  std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  shape[static_cast<std::size_t>(dimension)] = size;
  return shape;
}

std::vector<std::int64_t> in_two_parts(std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), 2);
  return shape;
}

template <typename T>
Parts<T> parts_of(const TensorArgument& out) {
  T* const real = out.mutable_data<T>();
  return {real, real + out.element_count() / 2};
}

template <typename T>
void transform(const Call& call, bool inverse) {
  const Sequences of = sequences_of(call.real.tensor, call.dimension);
  const auto plan = plan_for<FourierPlan<T>>(of.size);
  const T scale = call.scale<T>(of.size);
  const T* const real = call.real.tensor.data<T>();
  const T* const imag = call.imag ? call.imag->tensor.data<T>() : nullptr;
  const Parts<T> out = parts_of<T>(call.out);
  const Places all{0, 1, of.size};
  const InstructionSet set = best_instruction_set();
  for_each_group<T>(of, call.real.tensor.element_count() / of.size, of.size,
                    [&](Rows<T>& rows, const Group& group) {
                      const Parts<T> values = rows.values();
                      gather(real, {of, group, all}, values.real);
                      if (imag == nullptr) {
                        std::fill_n(values.imag, of.size * group.count, T(0));
                      } else {
                        gather(imag, {of, group, all}, values.imag);
                      }
                      if (inverse) {
                        plan->transform(values.swapped(), rows.scratch(), group.count, set);
                      } else {
                        plan->transform(values, rows.scratch(), group.count, set);
                      }
                      scatter(values.real, scale, {of, group, all}, out.real);
                      scatter(values.imag, scale, {of, group, all}, out.imag);
                    });
}

template <typename T>
void to_spectrum(const Call& call) {
  const Sequences of = sequences_of(call.real.tensor, call.dimension);
  const auto plan = plan_for<RealFourierPlan<T>>(of.size);
  const Sequences to{plan->spectrum_size(), of.inner};
  const T scale = call.scale<T>(of.size);
  const T* const x = call.real.tensor.data<T>();
  const Parts<T> out = parts_of<T>(call.out);
  const Places whole{0, 1, to.size};
  const InstructionSet set = best_instruction_set();
  const std::int64_t size = std::max(plan->complex_size(), plan->spectrum_size());
  for_each_group<T>(of, call.real.tensor.element_count() / of.size, size,
                    [&](Rows<T>& rows, const Group& group) {
                      const Parts<T> values = rows.values();
                      if (plan->is_paired()) {
                        gather(x, {of, group, {0, 2, of.size / 2}}, values.real);
                        gather(x, {of, group, {1, 2, of.size / 2}}, values.imag);
                      } else {
                        gather(x, {of, group, {0, 1, of.size}}, values.real);
                        std::fill_n(values.imag, of.size * group.count, T(0));
                      }
                      plan->to_spectrum(values, rows.scratch(), group.count, set);
                      scatter(values.real, scale, {to, group, whole}, out.real);
                      scatter(values.imag, scale, {to, group, whole}, out.imag);
                    });
}

template <typename T>
void from_spectrum(const Call& call) {
  const Sequences of = sequences_of(call.real.tensor, call.dimension);
  const Sequences to = sequences_of(call.out, call.dimension);
  if (!call.imag || to.size == 0) return;
  const auto plan = plan_for<RealFourierPlan<T>>(to.size);
  const T scale = call.scale<T>(to.size);
  const T* const real = call.real.tensor.data<T>();
  const T* const imag = call.imag->tensor.data<T>();
  T* const out = call.out.mutable_data<T>();
  const Places whole{0, 1, of.size};
  const InstructionSet set = best_instruction_set();
  const std::int64_t size = std::max(plan->complex_size(), plan->spectrum_size());
  for_each_group<T>(of, call.out.element_count() / to.size, size,
                    [&](Rows<T>& rows, const Group& group) {
                      const Parts<T> values = rows.values();
                      gather(real, {of, group, whole}, values.real);
                      gather(imag, {of, group, whole}, values.imag);
                      plan->from_spectrum(values, rows.scratch(), group.count, set);
                      if (plan->is_paired()) {
                        scatter(values.real, scale, {to, group, {0, 2, to.size / 2}}, out);
                        scatter(values.imag, scale, {to, group, {1, 2, to.size / 2}}, out);
                      } else {
                        scatter(values.real, scale, {to, group, {0, 1, to.size}}, out);
                      }
                    });
}

// Calls `work.operator()<T>()` with the type of the elements, where there are any.
template <typename Work>
void with_type(const Call& call, const Work& work) {
  if (call.out.element_count() == 0) return;
  if (call.real.tensor.dtype() == DType::kFloat32) {
    work.template operator()<float>();
  } else {
    work.template operator()<double>();
  }
}

}  // namespace

Status Fft::run(Arguments& arguments) {
  Call call{{"real", arguments.tensor(0)}, {}, arguments.integer(2), arguments.integer(4), {}};
  if (const auto imag = arguments.optional_tensor(1)) call.imag = {"imag", *imag};
  const bool inverse = arguments.boolean(3);
  Requirements require(arguments);
  check(require, call);
  if (!require.status()) return require.status();
  const TensorArgument& real = call.real.tensor;
  const std::int64_t size = real.size(static_cast<int>(call.dimension));
  require.holds(size > 0, "real has no elements to transform");
  require.holds(real.rank() < static_cast<int>(TensorArgument::kMaxRank),
                "real has too many dimensions");
  if (!require.status()) return require.status();
  call.out = require.result(real.dtype(), in_two_parts(resized(real, call.dimension, size)));
  if (!require.status()) return require.status();
  with_type(call, [&]<typename T>() { transform<T>(call, inverse); });
  return {};
}

Status RealFft::run(Arguments& arguments) {
  Call call{{"x", arguments.tensor(0)}, {}, arguments.integer(1), arguments.integer(2), {}};
  Requirements require(arguments);
  check(require, call);
  if (!require.status()) return require.status();
  const TensorArgument& x = call.real.tensor;
  const std::int64_t size = x.size(static_cast<int>(call.dimension));
  require.holds(size > 0, "x has no elements to transform");
  require.holds(x.rank() < static_cast<int>(TensorArgument::kMaxRank), "x has too many dimensions");
  if (!require.status()) return require.status();
  call.out = require.result(x.dtype(), in_two_parts(resized(x, call.dimension, size / 2 + 1)));
  if (!require.status()) return require.status();
  with_type(call, [&]<typename T>() { to_spectrum<T>(call); });
  return {};
}

Status InverseRealFft::run(Arguments& arguments) {
  Call call{{"real", arguments.tensor(0)},
            NamedTensor{"imag", arguments.tensor(1)},
            arguments.integer(2),
            arguments.integer(4),
            {}};
  const std::int64_t size = arguments.integer(3);
  Requirements require(arguments);
  check(require, call);
  if (!require.status()) return require.status();
  const TensorArgument& real = call.real.tensor;
  const std::int64_t found = real.size(static_cast<int>(call.dimension));
  require.holds(size > 0 && found == size / 2 + 1, "real has " + std::to_string(found) +
                                                       " elements for the spectrum of " +
                                                       std::to_string(size));
  if (!require.status()) return require.status();
  call.out = require.result(real.dtype(), resized(real, call.dimension, size));
  if (!require.status()) return require.status();
  with_type(call, [&]<typename T>() { from_spectrum<T>(call); });
  return {};
}

}  // namespace polystate
