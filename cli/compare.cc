#include "cli/compare.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "cli/element.h"
#include "cli/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

double limit_at(double expected, const Tolerance& tolerance) {
  return tolerance.absolute + tolerance.relative * std::fabs(expected);
}

bool is_close(double expected, double found, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return expected == found;
  return std::fabs(found - expected) <= limit_at(expected, tolerance);
}

bool agree(const Element& expected, const Element& found, const Tolerance& tolerance) {
  const double* const number = std::get_if<double>(&expected);
  return number == nullptr ? expected == found
                           : is_close(*number, std::get<double>(found), tolerance);
}

}  // namespace

std::optional<Difference> first_difference(const Tensor& expected, const Tensor& found,
                                           const Tolerance& tolerance) {
  if (expected.dtype() != found.dtype()) {
    return Difference{"dtype", std::string(name_of(expected.dtype())),
                      std::string(name_of(found.dtype())), ""};
  }
  if (expected.shape() != found.shape()) {
    return Difference{"shape", to_string(expected.shape()), to_string(found.shape()), ""};
  }
  for (std::size_t i = 0; i < expected.element_count(); ++i) {
    const Element wanted = element_at(expected, i);
    if (agree(wanted, element_at(found, i), tolerance)) continue;
    const double* const number = std::get_if<double>(&wanted);
    return Difference{place_text(expected.shape(), i), element_text(expected, i),
                      element_text(found, i),
                      number == nullptr ? "" : number_text(limit_at(*number, tolerance))};
  }
  return std::nullopt;
}

}  // namespace polystate::cli
