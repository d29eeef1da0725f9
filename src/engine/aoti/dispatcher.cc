#include "engine/aoti/dispatcher.h"

#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>

#include <string>

#include "engine/aoti/operator_failure.h"
#include "polystate/core/result.h"

AOTITorchError polystate_call_dispatcher(const char* name, const char* overload,
                                         StableIValue* stack) {
  if (aoti_torch_call_dispatcher(name, overload, stack) == AOTI_TORCH_SUCCESS) {
    return AOTI_TORCH_SUCCESS;
  }
  const char* const why = torch_exception_get_what_without_backtrace();
  polystate::record_operator_failure(
      {polystate::ErrorCode::kEngine,
       std::string(name) + ": " + (why == nullptr ? "it failed" : why)});
  return AOTI_TORCH_FAILURE;
}
