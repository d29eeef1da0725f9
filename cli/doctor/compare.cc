#include "cli/doctor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "cli/element.h"
#include "core/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

// The largest finite value of a floating-point dtype.
double largest_of(DType dtype) {
  if (dtype == DType::kFloat16) return 65504;
  return dtype == DType::kFloat64 ? std::numeric_limits<double>::max()
                                  : std::numeric_limits<float>::max();
}

// Of a tensor without complex numbers.
double scale_of(const Tensor& expected) {
  const double infinite = largest_of(expected.dtype()) / 2;
  double scale = 1;
  for (std::size_t i = 0; i < expected.element_count(); ++i) {
    const Element element = element_at(expected, i);
    const double* const number = std::get_if<double>(&element);
    if (number == nullptr) break;  // no element is a floating-point number
    const double magnitude = std::fabs(*number);
    if (magnitude <= infinite) scale = std::max(scale, magnitude);
  }
  return scale;
}

// The largest difference that is allowed at each element of one tensor.
class Limits {
 public:
  Limits(const Tensor& expected, const Tolerance& tolerance)
      : relative_(tolerance.relative), absolute_(tolerance.absolute * scale_of(expected)) {}

  [[nodiscard]] double at(double expected) const {
    return absolute_ + relative_ * std::fabs(expected);
  }

  [[nodiscard]] bool agree(const Element& expected, const Element& found) const {
    const double* const number = std::get_if<double>(&expected);
    return number == nullptr ? expected == found : is_close(*number, std::get<double>(found));
  }

 private:
  [[nodiscard]] bool is_close(double expected, double found) const {
    if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
    if (std::isinf(expected) || std::isinf(found)) return expected == found;
    return std::fabs(found - expected) <= at(expected);
  }

  double relative_;
  double absolute_;
};

}  // namespace

std::optional<Difference> first_difference(const Recorded& expected, const Tensor& found,
                                           const Tolerance& tolerance) {
  const Tensor& values = expected.values;
  if (values.dtype() != found.dtype()) {
    return Difference{"dtype", std::string(name_of(values.dtype())),
                      std::string(name_of(found.dtype())), ""};
  }
  if (expected.shape != found.shape()) {
    return Difference{"shape", to_string(expected.shape), to_string(found.shape()), ""};
  }
  // Both parts of a complex number count by themselves.
  const Tensor wanted_parts = values.pairs();
  const Tensor found_parts = found.pairs();
  const std::size_t parts = part_of(values.dtype()) ? 2 : 1;
  const Limits limits(wanted_parts, tolerance);
  for (std::size_t part = 0; part < wanted_parts.element_count(); ++part) {
    const std::size_t i = part / parts;
    const std::size_t place = expected.places ? expected.places->at(i) : i;
    const Element wanted = element_at(wanted_parts, part);
    if (limits.agree(wanted, element_at(found_parts, place * parts + part % parts))) continue;
    const double* const number = std::get_if<double>(&wanted);
    return Difference{place_text(expected.shape, place), element_text(values, i),
                      element_text(found, place),
                      number == nullptr ? "" : number_text(limits.at(*number))};
  }
  return std::nullopt;
}

}  // namespace polystate::cli
