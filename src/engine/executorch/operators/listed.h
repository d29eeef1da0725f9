#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/log.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// An operator as ExecuTorch knows it.
struct ListedOperator {
  OperatorSchema schema;
  const char* name;
  executorch::runtime::OpFunction function;
};

// The operator's name as ExecuTorch wants it.
template <typename Operator>
const char* name_of() {
  static const std::string name(Operator::kSchema.name());
  return name.c_str();
}

// ExecuTorch's calling convention around an operator: profiled, and a failure is logged and told to
// the runtime.
template <typename Operator>
void call(executorch::runtime::KernelRuntimeContext& context,
          executorch::runtime::Span<executorch::runtime::EValue*> stack) {
  const executorch::runtime::internal::EventTracerProfileOpScope profile(
      context.internal_event_tracer(), name_of<Operator>());
  static const std::size_t count = Operator::kSchema.argument_count();
  ProgramArguments arguments({stack.data(), stack.size()}, count);
  const Status status = arguments.status() ? Operator::run(arguments) : arguments.status();
  if (!status) {
    ET_LOG(Error, "%s: %s", name_of<Operator>(), status.error().message.c_str());
    context.fail(executorch::runtime::Error::InvalidArgument);
  }
}

// Operators, each a type with `kSchema` and `run(ProgramArguments&)`.
template <typename... Operators>
std::span<const ListedOperator> listed() {
  static const std::array list = {
      ListedOperator{Operators::kSchema, name_of<Operators>(), &call<Operators>}...};
  return list;
}

}  // namespace polystate
