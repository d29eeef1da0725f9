// polystate's checking operators as libraries of AOTInductor call them: see operator_shims.cc.
#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/aoti/library_arguments.h"
#include "engine/aoti/operator_failure.h"
#include "engine/aoti/tensor_handle.h"
#include "kernels/attention/page_copies.h"
#include "kernels/attention/token_places.h"
#include "kernels/check_failure.h"
#include "kernels/element_checks.h"
#include "kernels/requirements.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

// The elements row by row, where they lie if they lie so.
Result<Tensor> elements_of(AtenTensorHandle tensor) {
  const Result<TensorView> found = view(tensor);
  if (!found) return found.error();
  if (!is_row_major(*found)) return copy_of(*found);
  return Tensor::borrow_read_only(found->dtype, found->shape, found->data);
}

// Gives a copy of `x` where the check holds, so that what follows depends on it.
AOTITorchError pass_on(std::optional<CheckFailure> failure, AtenTensorHandle x,
                       AtenTensorHandle* copy) {
  if (!failure) return aoti_torch_clone(x, copy);
  record_check_failure(*std::move(failure));
  return AOTI_TORCH_FAILURE;
}

AOTITorchError fail(Error why) {
  record_operator_failure(std::move(why));
  return AOTI_TORCH_FAILURE;
}

}  // namespace

extern "C" {

#define POLYSTATE_SHIM __attribute__((visibility("default"))) AOTITorchError

// NOLINTNEXTLINE(readability-function-size): AOTInductor calls it so
POLYSTATE_SHIM aoti_torch_cpu_check_range(AtenTensorHandle x, AtenTensorHandle value,
                                          std::int64_t low, std::int64_t high, std::int64_t id,
                                          AtenTensorHandle* result) {
  const Result<Tensor> elements = elements_of(value);
  if (!elements) return fail(elements.error());
  return pass_on(check_elements(elements->dtype(), elements->bytes(), {low, high}, id), x, result);
}

POLYSTATE_SHIM aoti_torch_cpu_check(AtenTensorHandle x, AtenTensorHandle ok, std::int64_t id,
                                    AtenTensorHandle* result) {
  const Result<Tensor> elements = elements_of(ok);
  if (!elements) return fail(elements.error());
  if (elements->dtype() != DType::kBool)
    return fail({ErrorCode::kEngine, "what is checked is no truth value"});
  return pass_on(check_elements(DType::kBool, elements->bytes(), {1, 1}, id), x, result);
}

// NOLINTNEXTLINE(readability-function-size): AOTInductor calls it so
POLYSTATE_SHIM aoti_torch_cpu_check_size(AtenTensorHandle x, std::int64_t value, std::int64_t low,
                                         std::int64_t high, std::int64_t id,
                                         AtenTensorHandle* result) {
  return pass_on(check_size(value, {low, high}, id), x, result);
}

// NOLINTNEXTLINE(readability-function-size): AOTInductor calls it so
POLYSTATE_SHIM aoti_torch_cpu_check_places(AtenTensorHandle x, AtenTensorHandle page_table,
                                           AtenTensorHandle positions, AtenTensorHandle rows,
                                           std::int64_t page, std::int64_t id,
                                           AtenTensorHandle* result) {
  const std::array<LibraryValue, 3> values = {page_table, positions, rows};
  LibraryArguments arguments(values);
  const TokenPlaces places{.page_table = {"page_table", arguments.tensor(0)},
                           .positions = {"positions", arguments.tensor(1)},
                           .rows = {"rows", arguments.tensor(2)},
                           .page = page};
  Requirements require(arguments);
  places.require(require);
  if (!require.status()) return fail(require.status().error());
  return pass_on(check_places(places, id), x, result);
}

POLYSTATE_SHIM aoti_torch_cpu_check_page_copies(AtenTensorHandle x, AtenTensorHandle source,
                                                AtenTensorHandle target, std::int64_t id,
                                                AtenTensorHandle* result) {
  const std::array<LibraryValue, 2> values = {source, target};
  LibraryArguments arguments(values);
  const PageCopies copies{{"source", arguments.tensor(0)}, {"target", arguments.tensor(1)}};
  Requirements require(arguments);
  copies.require(require);
  if (!require.status()) return fail(require.status().error());
  return pass_on(check_page_copies(copies, id), x, result);
}

// By the time that a library calls it, it has computed what the copy is to follow.
POLYSTATE_SHIM aoti_torch_cpu_copy_after(AtenTensorHandle x, const AtenTensorHandle* /*others*/,
                                         std::int64_t /*others_size*/, AtenTensorHandle* result) {
  return aoti_torch_clone(x, result);
}

}  // extern "C"

}  // namespace polystate
