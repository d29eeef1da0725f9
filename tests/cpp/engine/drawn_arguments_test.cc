#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator_schema.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/operators.h"

namespace polystate {
namespace {

constexpr int kCalls = 400;  // of each operator

constexpr std::array kTypes = {DType::kFloat32, DType::kInt64,   DType::kFloat64, DType::kBool,
                               DType::kInt32,   DType::kFloat16, DType::kUInt8,   DType::kBFloat16,
                               DType::kInt8,    DType::kInt16};

// Draws arguments of an operator's types, of which many go together.
class Draw {
 public:
  explicit Draw(std::mt19937::result_type seed) : random_(seed) {
    shape_.resize(below(5));
    for (std::int64_t& size : shape_) size = static_cast<std::int64_t>(below(4));
    dtype_ = any_type();
  }

  std::vector<OperatorArgument> arguments(const OperatorSchema& schema) {
    std::vector<OperatorArgument> arguments;
    arguments.reserve(schema.argument_count());
    for (std::size_t i = 0; i < schema.argument_count(); ++i) {
      arguments.push_back(argument(schema.type_of(i)));
    }
    return arguments;
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  bool rarely() { return below(8) == 0; }

  DType any_type() { return kTypes[below(below(2) == 0 ? 2 : kTypes.size())]; }

  OperatorArgument argument(std::string_view type) {
    if (type.ends_with('?') && below(3) == 0) return std::monostate();
    const bool is_list = type.find('[') != std::string_view::npos;
    if (type == "Tensor?[]") return optional_tensors();
    if (type.starts_with("Tensor")) return is_list ? OperatorArgument(tensors()) : tensor();
    if (type.starts_with("int") || type.starts_with("SymInt")) {
      return is_list ? OperatorArgument(integers()) : integer();
    }
    if (type.starts_with("bool")) return below(2) == 0;
    if (type.starts_with("float")) return is_list ? OperatorArgument(numbers()) : number();
    if (type.starts_with("Scalar") && !type.starts_with("ScalarType")) {
      return below(2) == 0 ? OperatorArgument(number()) : integer();
    }
    if (type.starts_with("str")) return text();
    return integer();  // types of elements and the like
  }

  std::int64_t integer() {
    constexpr std::array<std::int64_t, 4> kOdd = {std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min(),
                                                  1'000'000'007, -1'000'000'007};
    return rarely() ? kOdd[below(kOdd.size())] : static_cast<std::int64_t>(below(7)) - 2;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> values(below(4));
    std::ranges::generate(values, [&] { return integer(); });
    return values;
  }

  double number() {
    constexpr std::array kOdd = {std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), 1e300, -1e-300};
    return rarely() ? kOdd[below(kOdd.size())] : std::uniform_real_distribution(-3.0, 3.0)(random_);
  }

  std::vector<double> numbers() {
    std::vector<double> values(below(5));
    std::ranges::generate(values, [&] { return number(); });
    return values;
  }

  std::string text() {
    constexpr std::array kTexts = {"mean",   "sum",  "prod", "amax",  "amin",
                                   "linear", "left", "none", "right", ""};
    return kTexts[below(kTexts.size())];
  }

  Shape drawn_shape() {
    Shape shape = shape_;
    if (rarely()) shape.push_back(static_cast<std::int64_t>(below(4)));
    if (rarely() && !shape.empty()) shape.pop_back();
    if (rarely() && !shape.empty())
      shape[below(shape.size())] = static_cast<std::int64_t>(below(6));
    return shape;
  }

  Tensor tensor() {
    const DType dtype = rarely() ? any_type() : below(4) == 0 ? DType::kInt64 : dtype_;
    Tensor made = Tensor::empty(dtype, drawn_shape()).value();
    for (std::size_t i = 0; i < made.element_count(); ++i) {
      fill(made.mutable_bytes().data() + i * size_of(dtype), dtype);
    }
    return made;
  }

  void fill(std::byte* to, DType dtype) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
    if (dtype == DType::kFloat32) {
      put(static_cast<float>(number()));
    } else if (dtype == DType::kFloat64) {
      put(number());
    } else if (dtype == DType::kBool) {
      put(below(2) == 0);
    } else {  // 16-bit floats of any bits
      const std::int64_t value = integer();
      std::memcpy(to, &value, size_of(dtype));
    }
  }

  std::vector<Tensor> tensors() {
    std::vector<Tensor> made;
    for (std::size_t left = below(4); left > 0; --left) made.push_back(tensor());
    return made;
  }

  std::vector<std::optional<Tensor>> optional_tensors() {
    std::vector<std::optional<Tensor>> made;
    for (const Tensor& each : tensors()) {
      made.push_back(below(3) == 0 ? std::nullopt : std::optional(each));
    }
    return made;
  }

  std::mt19937 random_;
  Shape shape_;
  DType dtype_;
};

// The tensors at the end that the operator fills.
std::size_t count_results(const OperatorSchema& schema) {
  const std::string_view returned = schema.text().substr(schema.text().rfind(" -> "));
  return static_cast<std::size_t>(std::ranges::count(returned, '!'));
}

// A program may call an operator with anything. What goes wrong is seen by the sanitizers.
// Of some operators the arguments have to go together as they are rarely drawn; most are computed.
TEST(DrawnArguments, AreComputedOrRefused) {
  int operators = 0;
  int computed = 0;
  for (const std::string& text : executorch_operators()) {
    const OperatorSchema schema(text);
    if (schema.text().find("out)") == std::string_view::npos &&
        !schema.text().starts_with("aten::")) {
      continue;  // works in place, on its first argument
    }
    bool is_computed = false;
    for (int call = 0; call < kCalls; ++call) {
      const std::vector<OperatorArgument> arguments =
          Draw(static_cast<std::mt19937::result_type>(call)).arguments(schema);
      is_computed |=
          call_operator(std::string(schema.name()), arguments, count_results(schema)).has_value();
    }
    operators += 1;
    computed += is_computed ? 1 : 0;
  }
  EXPECT_GT(2 * computed, operators) << computed << " of " << operators << " were computed";
}

}  // namespace
}  // namespace polystate
