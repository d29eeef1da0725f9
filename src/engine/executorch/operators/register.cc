#include "engine/executorch/operators/register.h"

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

// ExecuTorch's calling convention around an operator: profiled, and a failure is logged and told to
// the runtime.
template <typename Operator>
void call(KernelRuntimeContext& context, Span<EValue*> stack) {
  const executorch::runtime::internal::EventTracerProfileOpScope profile(
      context.internal_event_tracer(), Operator::kName);
  ProgramArguments arguments({stack.data(), stack.size()}, Operator::kArguments);
  const Status status = arguments.status() ? Operator::run(arguments) : arguments.status();
  if (!status) {
    ET_LOG(Error, "%s: %s", Operator::kName, status.error().message.c_str());
    context.fail(executorch::runtime::Error::InvalidArgument);
  }
}

template <typename Operator>
constexpr Kernel kernel() {
  return Kernel(Operator::kName, &call<Operator>);
}

constexpr std::array kKernels = {
    kernel<CheckRange>(),      kernel<CheckTrue>(),          kernel<CheckSize>(),
    kernel<CheckPlaces>(),     kernel<SliceScatter>(),       kernel<SelectScatter>(),
    kernel<IndexCopy>(),       kernel<IndexPut>(),           kernel<PagedAttention>(),
    kernel<CrossAttention>(),  kernel<DenseAttention>(),     kernel<WritePages>(),
    kernel<CopyPages>(),       kernel<PackedLinear>(),       kernel<PackedEmbedding>(),
    kernel<QuantizedLinear>(), kernel<QuantizedEmbedding>(), kernel<LayerNorm>(),
    kernel<Recurrence>(),
};

}  // namespace

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Kernel& kernel : kKernels) {
      // A second copy of this library in one process shares ExecuTorch's registry, which aborts on
      // a repeated name.
      if (!is_registered(kernel.name_)) {
        (void)executorch::runtime::register_kernel(kernel);
      }
    }
  });
}

bool is_registered(std::string_view name) {
  const Span<const Kernel> kernels = executorch::runtime::get_registered_kernels();
  return std::ranges::any_of(kernels,
                             [name](const Kernel& kernel) { return kernel.name_ == name; });
}

}  // namespace polystate
