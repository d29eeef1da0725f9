#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "kernels/arguments.h"
#include "kernels/check_failure.h"
#include "kernels/element_type.h"
#include "kernels/layout.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

struct Limits {
  std::int64_t low;
  std::int64_t high;
};

Status failed(std::int64_t id, std::string found) {
  Error error{ErrorCode::kContract, "check " + std::to_string(id) + " found " + found};
  record_check_failure({id, std::move(found)});
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

template <typename T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return std::to_string(static_cast<double>(value));
  }
}

// Integers are compared as int64, all others as double.
template <typename T>
bool within(T value, Limits limits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value) >= limits.low &&
           static_cast<std::int64_t>(value) <= limits.high;
  } else {
    return static_cast<double>(value) >= static_cast<double>(limits.low) &&
           static_cast<double>(value) <= static_cast<double>(limits.high);
  }
}

template <typename T>
Status check_elements(const EtTensor& value, Limits limits, std::int64_t id) {
  const std::span elements(value.const_data_ptr<T>(), static_cast<std::size_t>(value.numel()));
  for (const T element : elements) {
    if (!within(element, limits)) {
      return failed(id, text_of(element));
    }
  }
  return {};
}

Status check_range(const EtTensor& value, Limits limits, std::int64_t id) {
  switch (value.scalar_type()) {
    case ScalarType::Bool:
      return check_elements<bool>(value, limits, id);
    case ScalarType::Byte:
      return check_elements<std::uint8_t>(value, limits, id);
    case ScalarType::Char:
      return check_elements<std::int8_t>(value, limits, id);
    case ScalarType::Short:
      return check_elements<std::int16_t>(value, limits, id);
    case ScalarType::Int:
      return check_elements<std::int32_t>(value, limits, id);
    case ScalarType::Long:
      return check_elements<std::int64_t>(value, limits, id);
    case ScalarType::Half:
      return check_elements<executorch::aten::Half>(value, limits, id);
    case ScalarType::BFloat16:
      return check_elements<executorch::aten::BFloat16>(value, limits, id);
    case ScalarType::Float:
      return check_elements<float>(value, limits, id);
    case ScalarType::Double:
      return check_elements<double>(value, limits, id);
    default:
      return Error{ErrorCode::kEngine,
                   "cannot check elements of type " + type_text(value.scalar_type())};
  }
}

}  // namespace

Status CheckRange::run(KernelStack stack) {
  Arguments arguments(stack, 6);
  const EtTensor x = arguments.tensor(0);
  const EtTensor value = arguments.tensor(1);
  const Limits limits{arguments.integer(2), arguments.integer(3)};
  const std::int64_t id = arguments.integer(4);
  const EtTensor out = arguments.tensor(5);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status checked = check_range(value, limits, id); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckTrue::run(KernelStack stack) {
  Arguments arguments(stack, 4);
  const EtTensor x = arguments.tensor(0);
  const EtTensor ok = arguments.tensor(1);
  const std::int64_t id = arguments.integer(2);
  const EtTensor out = arguments.tensor(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (ok.scalar_type() != ScalarType::Bool) {
    return Error{ErrorCode::kEngine, "a condition of type " + type_text(ok.scalar_type())};
  }
  if (Status checked = check_elements<bool>(ok, {1, 1}, id); !checked) {
    return checked;
  }
  return pass_on(x, out);
}

Status CheckSize::run(KernelStack stack) {
  Arguments arguments(stack, 6);
  const EtTensor x = arguments.tensor(0);
  const std::int64_t value = arguments.integer(1);
  const Limits limits{arguments.integer(2), arguments.integer(3)};
  const std::int64_t id = arguments.integer(4);
  const EtTensor out = arguments.tensor(5);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (!within(value, limits)) {
    return failed(id, std::to_string(value));
  }
  return pass_on(x, out);
}

}  // namespace polystate
