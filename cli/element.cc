#include "cli/element.h"

#include <cassert>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "core/half.h"
#include "core/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

// A half-precision element as the float that it stands for. The bits are read bytewise: uint16 is
// no element type of Tensor.
float half_at(const Tensor& tensor, std::size_t index) {
  const auto bytes = tensor.bytes().subspan(index * 2, 2);
  const auto bits = static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) |
                                               (std::to_integer<unsigned>(bytes[1]) << 8U));
  return tensor.dtype() == DType::kFloat16 ? float16_to_float(bits) : bfloat16_to_float(bits);
}

}  // namespace

Element element_at(const Tensor& tensor, std::size_t index) {
  assert(index < tensor.element_count());
  switch (tensor.dtype()) {
    case DType::kBool:
      return tensor.bytes()[index] != std::byte{0};  // files may hold bytes that are no bool of C++
    case DType::kUInt8:
      return std::int64_t{tensor.values<std::uint8_t>()[index]};
    case DType::kInt8:
      return std::int64_t{tensor.values<std::int8_t>()[index]};
    case DType::kInt16:
      return std::int64_t{tensor.values<std::int16_t>()[index]};
    case DType::kInt32:
      return std::int64_t{tensor.values<std::int32_t>()[index]};
    case DType::kInt64:
      return tensor.values<std::int64_t>()[index];
    case DType::kFloat16:
    case DType::kBFloat16:
      return double{half_at(tensor, index)};
    case DType::kFloat32:
      return double{tensor.values<float>()[index]};
    case DType::kFloat64:
      return tensor.values<double>()[index];
    case DType::kComplex64:
      return std::complex<double>(tensor.values<std::complex<float>>()[index]);
    case DType::kComplex128:
      return tensor.values<std::complex<double>>()[index];
  }
  return false;
}

std::string real_text(const Tensor& tensor, double number) {
  const bool is_double = part_of(tensor.dtype()).value_or(tensor.dtype()) == DType::kFloat64;
  return is_double ? number_text(number) : number_text(static_cast<float>(number));
}

std::string element_text(const Tensor& tensor, std::size_t index) {
  const Element element = element_at(tensor, index);
  if (const bool* truth = std::get_if<bool>(&element)) return *truth ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&element)) {
    return std::to_string(*integer);
  }
  if (const double* number = std::get_if<double>(&element)) return real_text(tensor, *number);
  const auto value = std::get<std::complex<double>>(element);
  const std::string imaginary = real_text(tensor, value.imag());
  return real_text(tensor, value.real()) + (imaginary.starts_with('-') ? "" : "+") + imaginary +
         "j";
}

}  // namespace polystate::cli
