#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/attention/page_copies.h"
#include "kernels/attention/token_places.h"
#include "kernels/check_failure.h"
#include "kernels/element_checks.h"
#include "kernels/requirements.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

Status result_of(std::optional<CheckFailure> failure) {
  if (!failure) return {};
  Error error{ErrorCode::kContract,
              "check " + std::to_string(failure->id) + " found " + failure->found};
  record_check_failure(*std::move(failure));
  return error;
}

// Gives `out` the shape and the elements of `x`.
Status pass_on(const EtTensor& x, EtTensor out) {
  if (Status same = require_same_dtype(out, x); !same) {
    return same;
  }
  if (executorch::ET_RUNTIME_NAMESPACE::resize_tensor(out, x.sizes()) !=
          executorch::runtime::Error::Ok ||
      !x.dim_order().equals(out.dim_order())) {
    return Error{ErrorCode::kEngine, "x has shape " + to_string(x) + ", which out (" +
                                         to_string(out) + ") cannot take"};
  }
  if (x.nbytes() > 0 && x.const_data_ptr() != out.const_data_ptr()) {
    std::memcpy(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes());
  }
  return {};
}

Status check_all(const EtTensor& value, CheckLimits limits, std::int64_t id) {
  const std::optional<DType> dtype = dtype_of(value.scalar_type());
  if (!dtype) {
    return Error{ErrorCode::kEngine,
                 "cannot check elements of type " + type_text(value.scalar_type())};
  }
  const std::span bytes(data_of(value), value.nbytes());
  return result_of(check_elements(*dtype, bytes, limits, id));
}

}  // namespace

Status CheckRange::run(ProgramArguments& arguments) {
  const EtTensor x = arguments.program_tensor(0);
  const EtTensor value = arguments.program_tensor(1);
  const CheckLimits limits{arguments.integer(2), arguments.integer(3)};
  const std::int64_t id = arguments.integer(4);
  const EtTensor out = arguments.program_tensor(5);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status checked = check_all(value, limits, id); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckTrue::run(ProgramArguments& arguments) {
  const EtTensor x = arguments.program_tensor(0);
  const EtTensor ok = arguments.program_tensor(1);
  const std::int64_t id = arguments.integer(2);
  const EtTensor out = arguments.program_tensor(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (ok.scalar_type() != ScalarType::Bool) {
    return Error{ErrorCode::kEngine, "a condition of type " + type_text(ok.scalar_type())};
  }
  if (Status checked = check_all(ok, {1, 1}, id); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckSize::run(ProgramArguments& arguments) {
  const EtTensor x = arguments.program_tensor(0);
  const std::int64_t value = arguments.integer(1);
  const CheckLimits limits{arguments.integer(2), arguments.integer(3)};
  const std::int64_t id = arguments.integer(4);
  const EtTensor out = arguments.program_tensor(5);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status checked = result_of(check_size(value, limits, id)); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckPlaces::run(ProgramArguments& arguments) {
  const EtTensor x = arguments.program_tensor(0);
  const TokenPlaces places{.page_table = {"page_table", arguments.tensor(1)},
                           .positions = {"positions", arguments.tensor(2)},
                           .rows = {"rows", arguments.tensor(3)},
                           .page = arguments.integer(4)};
  const std::int64_t id = arguments.integer(5);
  const EtTensor out = arguments.program_tensor(6);
  Requirements require(arguments);
  places.require(require);
  if (!require.status()) {
    return require.status();
  }
  if (Status checked = result_of(check_places(places, id)); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckPageCopies::run(ProgramArguments& arguments) {
  const EtTensor x = arguments.program_tensor(0);
  const PageCopies copies{{"source", arguments.tensor(1)}, {"target", arguments.tensor(2)}};
  const std::int64_t id = arguments.integer(3);
  const EtTensor out = arguments.program_tensor(4);
  Requirements require(arguments);
  copies.require(require);
  if (!require.status()) {
    return require.status();
  }
  if (Status checked = result_of(check_page_copies(copies, id)); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

}  // namespace polystate
