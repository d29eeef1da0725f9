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
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

// The operator's name as ExecuTorch wants it.
template <typename Operator>
const char* name_of() {
  static const std::string name(Operator::kSchema.name());
  return name.c_str();
}

// ExecuTorch's calling convention around an operator: profiled, and a failure is logged and told to
// the runtime.
template <typename Operator>
void call(KernelRuntimeContext& context, Span<EValue*> stack) {
  const executorch::runtime::internal::EventTracerProfileOpScope profile(
      context.internal_event_tracer(), name_of<Operator>());
  constexpr std::size_t kArguments = Operator::kSchema.argument_count();
  ProgramArguments arguments({stack.data(), stack.size()}, kArguments);
  const Status status = arguments.status() ? Operator::run(arguments) : arguments.status();
  if (!status) {
    ET_LOG(Error, "%s: %s", name_of<Operator>(), status.error().message.c_str());
    context.fail(executorch::runtime::Error::InvalidArgument);
  }
}

template <typename... Operators>
struct Listed {
  static constexpr std::array kSchemas = {Operators::kSchema...};
  static std::array<Kernel, sizeof...(Operators)> kernels() {
    return {Kernel(name_of<Operators>(), &call<Operators>)...};
  }
};

using All = Listed<CheckRange, CheckTrue, CheckSize, CheckPlaces, SliceScatter, SelectScatter,
                   IndexCopy, IndexPut, PagedAttention, CrossAttention, DenseAttention, WritePages,
                   CopyPages, PackedLinear, PackedEmbedding, QuantizedLinear, QuantizedEmbedding,
                   GroupwiseLinear, GroupwiseEmbedding, LayerNorm, Recurrence>;

}  // namespace

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Kernel& kernel : All::kernels()) {
      // A second copy of this library in one process shares ExecuTorch's registry, which aborts on
      // a repeated name.
      if (!is_registered(kernel.name_)) {
        (void)executorch::runtime::register_kernel(kernel);
      }
    }
  });
}

std::span<const OperatorSchema> operator_schemas() { return All::kSchemas; }

bool is_registered(std::string_view name) {
  const Span<const Kernel> kernels = executorch::runtime::get_registered_kernels();
  return std::ranges::any_of(kernels,
                             [name](const Kernel& kernel) { return kernel.name_ == name; });
}

}  // namespace polystate
