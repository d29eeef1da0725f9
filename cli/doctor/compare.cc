#include "cli/doctor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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

// Elements that are equal count for the scale up to so many times the largest that differs.
constexpr double kEqual = 100;

// The recorded elements and those that were found in their places; both parts of a complex number
// are elements of their own.
class Pairs {
 public:
  Pairs(const Recorded& expected, const Tensor& found)
      : expected_(expected.values.pairs()),
        found_(found.pairs()),
        places_(expected.places),
        parts_(part_of(expected.values.dtype()) ? 2 : 1) {}

  [[nodiscard]] std::size_t count() const { return expected_.element_count(); }
  [[nodiscard]] DType dtype() const { return expected_.dtype(); }

  // Which of the recorded values it is a part of, and where that is in the tensor.
  [[nodiscard]] std::size_t value(std::size_t index) const { return index / parts_; }
  [[nodiscard]] std::size_t place(std::size_t index) const {
    return places_ ? places_->at(value(index)) : value(index);
  }

  [[nodiscard]] Element expected(std::size_t index) const { return element_at(expected_, index); }
  [[nodiscard]] Element found(std::size_t index) const {
    return element_at(found_, place(index) * parts_ + index % parts_);
  }

 private:
  Tensor expected_;
  Tensor found_;
  const std::optional<std::vector<std::size_t>>& places_;
  std::size_t parts_;
};

// The largest recorded magnitude up to `limit` of the floating-point numbers that are equal, or of
// those that are not; 0 where there are none.
double largest_magnitude(const Pairs& pairs, bool equal, double limit) {
  double largest = 0;
  for (std::size_t i = 0; i < pairs.count(); ++i) {
    const Element element = pairs.expected(i);
    const double* const number = std::get_if<double>(&element);
    if (number == nullptr) break;  // no element is a floating-point number
    const double magnitude = std::fabs(*number);
    if (magnitude <= limit && (element == pairs.found(i)) == equal) {
      largest = std::max(largest, magnitude);
    }
  }
  return largest;
}

double scale_of(const Pairs& pairs) {
  const double infinite = largest_of(pairs.dtype()) / 2;
  const double scale = std::max(1.0, largest_magnitude(pairs, false, infinite));
  return std::max(scale, largest_magnitude(pairs, true, std::min(infinite, kEqual * scale)));
}

// The largest difference that is allowed at each element of one tensor.
class Limits {
 public:
  Limits(const Pairs& pairs, const Tolerance& tolerance)
      : relative_(tolerance.relative), absolute_(tolerance.absolute * scale_of(pairs)) {}

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
  const Pairs pairs(expected, found);
  const Limits limits(pairs, tolerance);
  for (std::size_t i = 0; i < pairs.count(); ++i) {
    const Element wanted = pairs.expected(i);
    if (limits.agree(wanted, pairs.found(i))) continue;
    const double* const number = std::get_if<double>(&wanted);
    return Difference{place_text(expected.shape, pairs.place(i)),
                      element_text(values, pairs.value(i)), element_text(found, pairs.place(i)),
                      number == nullptr ? "" : number_text(limits.at(*number))};
  }
  return std::nullopt;
}

}  // namespace polystate::cli
