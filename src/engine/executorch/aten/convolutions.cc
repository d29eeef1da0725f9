#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/convolution.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/aten/triples.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Convolutions of one to three dimensions. ExecuTorch has those of one and two, an element at a
// time.
namespace polystate {
namespace {

// The tensors of a call, checked against each other.
Status read_tensors(ProgramArguments& arguments, Convolution& call) {
  call.input = arguments.tensor(0);
  call.weight = arguments.tensor(1);
  call.bias = arguments.optional_tensor(2);
  call.is_transposed = arguments.boolean(6);
  call.groups = arguments.integer(8);
  if (!arguments.status()) return arguments.status();
  const TensorArgument& input = call.input;
  const TensorArgument& weight = call.weight;
  for (const auto& [tensor, name] : {std::pair{&input, "input"}, std::pair{&weight, "weight"}}) {
    if (const Status row_major = require_row_major(*tensor, name); !row_major) return row_major;
  }
  const int rank = input.rank();
  if (rank < 3 || rank > 5 || weight.rank() != rank) {
    return refused("input has " + std::to_string(rank) + " dimensions and weight " +
                   std::to_string(weight.rank()) + ": both have 3, 4 or 5");
  }
  if (weight.dtype() != input.dtype() || input.dtype() == DType::kBool) {
    return refused("input and weight are not of one type of numbers");
  }
  call.batch = input.size(0);
  const std::int64_t groups = call.groups;
  const std::int64_t most = std::max<std::int64_t>(1, weight.size(0));
  if (groups < 1 || groups > most || input.size(1) % groups != 0 || weight.size(0) % groups != 0) {
    return refused("channels do not divide into " + std::to_string(groups) + " groups");
  }
  call.inputs = input.size(1) / groups;
  call.outputs = call.is_transposed ? weight.size(1) : weight.size(0) / groups;
  const std::int64_t taken = call.is_transposed ? weight.size(0) / groups : weight.size(1);
  if (taken != call.inputs) {
    return refused("input has " + std::to_string(input.size(1)) + " channels, weight takes " +
                   std::to_string(taken * groups));
  }
  for (int i = 2; i < rank; ++i) {
    const auto place = static_cast<std::size_t>(5 - rank + i - 2);
    call.sizes[place] = input.size(i);
    call.kernel[place] = weight.size(i);
  }
  if (!call.bias) return {};
  if (call.bias->rank() != 1 || call.bias->size(0) != groups * call.outputs ||
      call.bias->dtype() != input.dtype() || !call.bias->is_row_major()) {
    return refused("bias is not a number for each channel of the result");
  }
  return {};
}

// How the kernel lies, and the sizes of the result that follow.
Status read_places(ProgramArguments& arguments, Convolution& call) {
  const auto rank = static_cast<std::size_t>(call.input.rank() - 2);
  const Result<Triple> stride = triple(arguments, 3, rank, 1, 1);
  if (!stride) return stride.error();
  const Result<Triple> padding = triple(arguments, 4, rank, 0, 0);
  if (!padding) return padding.error();
  const Result<Triple> dilation = triple(arguments, 5, rank, 1, 1);
  if (!dilation) return dilation.error();
  const Result<Triple> more = call.is_transposed ? triple(arguments, 7, rank, 0, 0) : Triple{};
  if (!more) return more.error();
  call.stride = *stride;
  call.padding = *padding;
  call.dilation = *dilation;
  for (std::size_t i = 3 - rank; i < 3; ++i) {
    if (call.kernel[i] < 1) return refused("the kernel has no elements");
    const std::int64_t reach = call.dilation[i] * (call.kernel[i] - 1) + 1;
    const std::int64_t both_sides = 2 * call.padding[i];
    const std::int64_t size = call.sizes[i];
    const std::int64_t step = call.stride[i];
    const std::int64_t room = size + both_sides - reach;
    call.results[i] = call.is_transposed ? (size - 1) * step - both_sides + reach + (*more)[i]
                      : room < 0         ? 0
                                         : room / step + 1;
    if (call.results[i] < 1) return refused("the input is smaller than the kernel");
  }
  return {};
}

bool is_padded(const Convolution& call) {
  return std::ranges::any_of(call.padding, [](std::int64_t size) { return size > 0; });
}

// The largest magnitude of some numbers, as bits; infinity is below NaN.
std::uint32_t largest_magnitude(const float* values, std::size_t count) {
  constexpr std::uint32_t kMagnitude = 0x7fff'ffff;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & kMagnitude);
  }
  return largest;
}

bool is_finite(const TensorArgument& tensor) {
  constexpr auto kInfinity = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
  const std::span<const float> values = elements<const float>(tensor);
  const auto largest = vectorised<&largest_magnitude>(best_instruction_set());
  return largest(values.data(), values.size()) < kInfinity;
}

// Whether products of matrices give the results, and save time.
bool has_products(const Convolution& call) {
  constexpr std::int64_t kFewestOutputs = 4;
  constexpr std::int64_t kMostPadded = 4;  // times what there is otherwise
  const bool has_sums = call.input.element_count() > 0 && call.depth() > 0;
  if (call.input.dtype() != DType::kFloat32 || call.outputs < kFewestOutputs || !has_sums) {
    return false;
  }
  if (call.is_transposed) return true;
  auto padded = static_cast<double>(call.batch * call.groups * call.inputs);
  for (std::size_t i = 0; i < 3; ++i) {
    padded *= static_cast<double>(call.sizes[i] + 2 * call.padding[i]);
  }
  const std::int64_t otherwise = std::max(call.input.element_count(), call.out.element_count());
  if (padded > static_cast<double>(kMostPadded * otherwise)) return false;
  return !is_padded(call) || is_finite(call.weight);
}

constexpr char kForm[] =
    "convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, *, Tensor(a!) "
    "out) -> Tensor(a!)";

// ExecuTorch has a kernel of this name, which takes no volumes: these have the other namespace.
template <const auto& kNamespace>
struct ConvolutionIn : Named<kNamespace, kForm> {
  static Status run(ProgramArguments& arguments) {
    Convolution call;
    if (const Status status = read_tensors(arguments, call); !status) return status;
    if (const Status status = read_places(arguments, call); !status) return status;
    std::vector<std::int64_t> shape{call.batch, call.groups * call.outputs};
    shape.insert(shape.end(), call.results.end() - (call.input.rank() - 2), call.results.end());
    const Result<TensorArgument> out = arguments.result_at(9, call.input.dtype(), shape);
    if (!out) return out.error();
    call.out = *out;
    if (call.out.element_count() == 0) return {};
    has_products(call) ? convolve_by_products(call) : convolve_by_taps(call);
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> convolution_operators() {
  return listed<ConvolutionIn<kOwnNamespace>, ConvolutionIn<kFasterNamespace>>();
}

}  // namespace polystate
