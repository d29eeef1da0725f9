#include "polystate/core/dtype.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string_view>

namespace polystate {
namespace {

struct Description {
  std::string_view name;
  std::size_t size;
  bool integer;
};

// In the order of DType.
constexpr std::array<Description, 12> kDescriptions = {{
    {"bool", 1, false},
    {"uint8", 1, true},
    {"int8", 1, true},
    {"int16", 2, true},
    {"int32", 4, true},
    {"int64", 8, true},
    {"float16", 2, false},
    {"bfloat16", 2, false},
    {"float32", 4, false},
    {"float64", 8, false},
    {"complex64", 8, false},
    {"complex128", 16, false},
}};

const Description& describe(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  assert(index < kDescriptions.size());
  return kDescriptions[index];
}

}  // namespace

std::size_t size_of(DType dtype) { return describe(dtype).size; }

std::size_t alignment_of(DType dtype) { return size_of(part_of(dtype).value_or(dtype)); }

std::optional<DType> part_of(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return std::nullopt;
}

std::string_view name_of(DType dtype) { return describe(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDescriptions.size(); ++i) {
    if (kDescriptions[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_integer(DType dtype) { return describe(dtype).integer; }

}  // namespace polystate
