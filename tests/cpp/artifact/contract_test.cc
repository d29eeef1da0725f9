#include "polystate/artifact/contract.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

// The only method of a manifest; `parts` are its "symbols", "inputs" and "guards".
MethodSpec method_with(const std::string& parts) {
  const std::string text = R"({
    "format": "polystate", "format_version": 1, "versions": {}, "constants": {}, "state": [], "golden": null,
    "program": {"engine": "executorch", "file": "model.pte", "backend": "portable", "quantization": null,
                "operators": [], "delegates": []},
    "files": {"model.pte": 1},
    "methods": [{"name": "step", "outputs": [], "checks": [], "reads": [], "writes": [],
                 "atomic": true, "checks_first": true, "activation_bytes": 0, )" +
                           parts + "}]}";
  const Result<Manifest> manifest = Manifest::parse(text);
  if (manifest) return manifest->methods[0];
  ADD_FAILURE() << manifest.error().message;
  return {};
}

// An input called `name`, of int64 unless said otherwise.
std::string input(const std::string& name, const std::string& shape,
                  const std::string& dtype = "int64", const std::string& values = "",
                  const std::string& written_from = "null") {
  return R"({"name": ")" + name + R"(", "dtype": ")" + dtype + R"(", "shape": )" + shape +
         R"(, "values": [)" + values + R"(], "written_from": )" + written_from + "}";
}

// A symbol that is `scale` * dimension `dimension` of input `input` + `offset`; `range` is
// "min..max" as JSON.
std::string symbol(const std::string& name, int input, int dimension, const std::string& range,
                   const std::string& linear = R"("scale": 1, "offset": 0)") {
  return R"({"name": ")" + name + R"(", "input": )" + std::to_string(input) + R"(, "dimension": )" +
         std::to_string(dimension) + ", " + range + ", " + linear + "}";
}

std::string parts(const std::string& symbols, const std::string& inputs,
                  const std::string& guards = "") {
  return "\"symbols\": [" + symbols + "], \"inputs\": [" + inputs + "], \"guards\": [" + guards +
         "]";
}

Tensor ints(Shape shape, std::int64_t value = 0) {
  const std::size_t count = element_count(DType::kInt64, shape).value_or(0);
  return Tensor::of(std::move(shape), std::vector<std::int64_t>(count, value)).value();
}

std::string refusal(const MethodSpec& method, const std::vector<Tensor>& inputs) {
  const Status status = check_contract(method, inputs);
  if (status) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kContract);
  return status.error().message;
}

constexpr const char* kSmall = R"("min": 1, "max": 8)";

TEST(Contract, TheNumberOfInputsMustBeRight) {
  const MethodSpec method = method_with(parts("", input("x", "[]") + "," + input("i", "[]")));
  EXPECT_EQ(refusal(method, {ints({}), ints({})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({})}), "method 'step' takes 2 inputs (x, i), got 1");
  EXPECT_EQ(refusal(method, {}), "method 'step' takes 2 inputs (x, i), got 0");
  EXPECT_EQ(refusal(method_with(parts("", "")), {ints({})}), "method 'step' takes 0 inputs, got 1");
  EXPECT_EQ(refusal(method_with(parts("", "")), {}), "accepted");
}

TEST(Contract, TheDtypeMustBeRight) {
  const MethodSpec method = method_with(parts("", input("x", "[2]", "float32")));
  EXPECT_EQ(refusal(method, {Tensor::of<float>({2}, {1, 2}).value()}), "accepted");
  EXPECT_EQ(refusal(method, {ints({2})}),
            "method 'step', input 0 'x': the dtype is int64; it must be float32");
}

TEST(Contract, TheRankMustBeRight) {
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall), input("x", "[\"batch\", 20]")));
  EXPECT_EQ(
      refusal(method, {ints({20})}),
      "method 'step', input 0 'x': the shape [20] has 1 dimension; it must have 2, [batch, 20]");
  EXPECT_EQ(refusal(method_with(parts("", input("x", "[]"))), {ints({1})}),
            "method 'step', input 0 'x': the shape [1] has 1 dimension; it must have 0, []");
}

TEST(Contract, AStaticSizeMustBeRightEvenWhereOthersAreDynamic) {
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall), input("x", "[\"batch\", 20]")));
  EXPECT_EQ(refusal(method, {ints({3, 20})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({3, 21})}),
            "method 'step', input 0 'x': dimension 1 is 21; it must be 20");
}

TEST(Contract, ADynamicSizeMustBeInItsRange) {
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall), input("x", "[\"batch\"]")));
  EXPECT_EQ(refusal(method, {ints({1})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({8})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({9})}),
            "method 'step', input 0 'x': dimension 0 'batch' is 9; the limit is 1..8");
  EXPECT_EQ(refusal(method, {ints({0})}),
            "method 'step', input 0 'x': dimension 0 'batch' is 0; the limit is 1..8");
}

TEST(Contract, ARangeMayHaveNoUpperEnd) {
  const MethodSpec method = method_with(parts(
      symbol("batch", 0, 0, R"("min": 2, "max": 9223372036854775807)"), input("x", "[\"batch\"]")));
  EXPECT_EQ(refusal(method, {ints({100000})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({1})}),
            "method 'step', input 0 'x': dimension 0 'batch' is 1; the limit is 2 or more");
}

TEST(Contract, AnEmptyTensorIsAcceptedWhereTheRangeBeginsAtZero) {
  const std::string values = R"({"min": 0, "max": 3, "reason": "indexes dimension 0 of 'cache'"})";
  const MethodSpec method = method_with(parts(symbol("batch", 0, 0, R"("min": 0, "max": 8)"),
                                              input("x", "[\"batch\"]", "int64", values)));
  EXPECT_EQ(refusal(method, {ints({0})}), "accepted");
}

TEST(Contract, ADerivedSizeMustBeWholeAndInRange) {
  const MethodSpec method =
      method_with(parts(symbol("half", 0, 0, kSmall, R"("scale": 2, "offset": -1)"),
                        input("x", R"([["+", ["*", 2, "half"], -1]])")));
  EXPECT_EQ(refusal(method, {ints({1})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({15})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({4})}),
            "method 'step', input 0 'x': dimension 0 is 4; it must be 2 * half - 1 with half a "
            "whole number");
  EXPECT_EQ(
      refusal(method, {ints({17})}),
      "method 'step', input 0 'x': dimension 0 is 17; it must be 2 * half - 1 with half in 1..8");
}

TEST(Contract, EqualSizesMustBeEqual) {
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall),
                        input("x", "[\"batch\", 1]") + "," + input("y", "[2, \"batch\"]")));
  EXPECT_EQ(refusal(method, {ints({3, 1}), ints({2, 3})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({3, 1}), ints({2, 4})}),
            "method 'step', input 1 'y': dimension 1 is 4; it must be batch = 3, where batch is 3 "
            "(from dimension 0 "
            "of input 0 'x')");
}

TEST(Contract, ASizeMadeOfOthersMustBeRight) {
  const MethodSpec method = method_with(
      parts(symbol("a", 0, 0, kSmall) + "," + symbol("b", 0, 1, kSmall),
            input("x", R"(["a", "b"])") + "," + input("y", R"([["+", ["*", "a", "b"], 1]])")));
  EXPECT_EQ(refusal(method, {ints({2, 3}), ints({7})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({2, 3}), ints({6})}),
            "method 'step', input 1 'y': dimension 0 is 6; it must be a * b + 1 = 7, where a is 2 "
            "(from dimension 0 of "
            "input 0 'x'), b is 3 (from dimension 1 of input 0 'x')");
}

TEST(Contract, ASizeThatCannotBeComputedIsRefused) {
  const MethodSpec method = method_with(
      parts(symbol("a", 0, 0, kSmall),
            input("x", R"(["a"])") + "," + input("y", R"([["**", 10, ["*", 10, "a"]]])")));
  EXPECT_EQ(refusal(method, {ints({2}), ints({6})}),
            "method 'step', input 1 'y': dimension 0 is 6; it must be 10 ** (10 * a), where a is 2 "
            "(from dimension 0 "
            "of input 0 'x'); but 10 ** 20 does not fit 64 bits");
}

TEST(Contract, AGuardMustHold) {
  const MethodSpec method = method_with(parts(
      symbol("batch", 0, 0, kSmall), input("x", "[\"batch\"]"),
      R"({"condition": ["==", ["%", "batch", 2], 0], "text": "batch % 2 == 0", "source": "model.py:12"})"));
  EXPECT_EQ(refusal(method, {ints({4})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({3})}),
            "method 'step' needs batch % 2 == 0 (model.py:12): batch is 3 (from dimension 0 of "
            "input 0 'x')");
}

TEST(Contract, AGuardThatCannotBeComputedIsBroken) {
  const MethodSpec method = method_with(parts(
      symbol("batch", 0, 0, kSmall), input("x", "[\"batch\"]"),
      R"({"condition": ["<", ["//", 8, ["+", "batch", -1]], 9], "text": "8 // (batch - 1) < 9", "source": ""})"));
  EXPECT_EQ(refusal(method, {ints({2})}), "accepted");
  EXPECT_EQ(refusal(method, {ints({1})}),
            "method 'step' needs 8 // (batch - 1) < 9: batch is 1 (from dimension 0 of input 0 "
            "'x'); 8 // 0 divides by "
            "zero");
}

TEST(Contract, AGuardWithoutSymbolsThatIsFalseRefusesEveryCall) {
  const MethodSpec method =
      method_with(parts("", "", R"({"condition": 0, "text": "False", "source": ""})"));
  EXPECT_EQ(refusal(method, {}), "method 'step' needs False: it never holds");
}

constexpr const char* kIndex =
    R"({"min": 0, "max": 63, "reason": "indexes dimension 1 of 'cache'"})";

TEST(Contract, AValueMustBeInItsRange) {
  const MethodSpec method = method_with(
      parts("", input("tokens", "[]") + "," + input("position", "[]", "int64", kIndex)));
  EXPECT_EQ(refusal(method, {ints({}), ints({}, 0)}), "accepted");
  EXPECT_EQ(refusal(method, {ints({}), ints({}, 63)}), "accepted");
  EXPECT_EQ(refusal(method, {ints({}), ints({}, 64)}),
            "method 'step', input 1 'position': value 64 is above 63, the largest that indexes "
            "dimension 1 of 'cache'");
  EXPECT_EQ(refusal(method, {ints({}), ints({}, -1)}),
            "method 'step', input 1 'position': value -1 is below 0, the smallest that indexes "
            "dimension 1 of 'cache'");
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refusal(method, {ints({}), ints({}, kSmallest)}),
            "method 'step', input 1 'position': value -9223372036854775808 is below 0, the "
            "smallest that indexes "
            "dimension 1 of 'cache'");
}

TEST(Contract, TheFirstWrongValueOfManyIsNamedWithItsPlace) {
  const MethodSpec method = method_with(parts("", input("x", "[3, 400]", "int64", kIndex)));
  const Tensor tensor = ints({3, 400}, 5);
  auto* values = reinterpret_cast<std::int64_t*>(tensor.mutable_bytes().data());
  values[2 * 400 + 399] = 99;
  EXPECT_EQ(refusal(method, {tensor}),
            "method 'step', input 0 'x': value 99 at [2, 399] is above 63, the largest that "
            "indexes dimension 1 of 'cache'");
  values[1 * 400 + 7] = 98;
  EXPECT_EQ(refusal(method, {tensor}),
            "method 'step', input 0 'x': value 98 at [1, 7] is above 63, the largest that indexes "
            "dimension 1 of 'cache'");
}

TEST(Contract, EveryIntegerTypeIsScanned) {
  const auto refusal_of = [](const std::string& dtype, const Tensor& tensor) {
    const std::string values = R"({"min": 1, "max": 100, "reason": "is small"})";
    return refusal(method_with(parts("", input("x", "[2]", dtype, values))), {tensor});
  };
  const std::string start = "method 'step', input 0 'x': value ";
  EXPECT_EQ(refusal_of("uint8", Tensor::of<std::uint8_t>({2}, {1, 200}).value()),
            start + "200 at [1] is above 100, the largest that is small");
  EXPECT_EQ(refusal_of("int8", Tensor::of<std::int8_t>({2}, {1, -128}).value()),
            start + "-128 at [1] is below 1, the smallest that is small");
  EXPECT_EQ(refusal_of("int16", Tensor::of<std::int16_t>({2}, {1, 101}).value()),
            start + "101 at [1] is above 100, the largest that is small");
  EXPECT_EQ(refusal_of("int32", Tensor::of<std::int32_t>({2}, {0, 1}).value()),
            start + "0 at [0] is below 1, the smallest that is small");
  EXPECT_EQ(refusal_of("int32", Tensor::of<std::int32_t>({2}, {100, 1}).value()), "accepted");
}

TEST(Contract, LimitsOnValuesMayDependOnSizesAndBeOneSided) {
  const std::string values = R"({"min": null, "max": ["+", "batch", -1], "reason": "indexes 'x'"},)"
                             R"({"min": -2, "max": null, "reason": "model.py:7 allows"})";
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall),
                        input("x", "[\"batch\"]") + "," + input("i", "[]", "int64", values)));
  EXPECT_EQ(refusal(method, {ints({4}), ints({}, -2)}), "accepted");
  EXPECT_EQ(refusal(method, {ints({4}), ints({}, 4)}),
            "method 'step', input 1 'i': value 4 is above 3, the largest that indexes 'x'");
  EXPECT_EQ(
      refusal(method, {ints({4}), ints({}, -3)}),
      "method 'step', input 1 'i': value -3 is below -2, the smallest that model.py:7 allows");
}

TEST(Contract, ALimitThatCannotBeComputedRefusesTheCall) {
  const std::string values =
      R"({"min": null, "max": ["//", 8, ["+", "batch", -1]], "reason": "indexes 'x'"})";
  const MethodSpec method =
      method_with(parts(symbol("batch", 0, 0, kSmall), input("x", "[\"batch\"]", "int64", values)));
  EXPECT_EQ(refusal(method, {ints({1})}),
            "method 'step', input 0 'x': the limit on what indexes 'x' cannot be computed: 8 // 0 "
            "divides by zero");
}

TEST(Contract, AnInputThatTheMethodWritesMustBeWritable) {
  const MethodSpec method = method_with(parts("", input("x", "[2]", "int64", "", "0")));
  std::array<std::int64_t, 2> memory{};
  EXPECT_EQ(refusal(method, {Tensor::borrow(DType::kInt64, {2}, memory.data()).value()}),
            "accepted");
  EXPECT_EQ(refusal(method, {Tensor::borrow_read_only(DType::kInt64, {2}, memory.data()).value()}),
            "method 'step', input 0 'x': the method writes this tensor, which is read-only");
}

TEST(Contract, AnInputThatTheMethodWritesMustNotShareMemory) {
  const MethodSpec method =
      method_with(parts("", input("x", "[2]", "int64", "", "0") + "," + input("y", "[2]")));
  std::array<std::int64_t, 4> memory{};
  const auto at = [&memory](std::size_t first) {
    return Tensor::borrow(DType::kInt64, {2}, memory.data() + first).value();
  };
  EXPECT_EQ(refusal(method, {at(0), at(2)}), "accepted");
  EXPECT_EQ(refusal(method, {at(2), at(0)}), "accepted");
  const std::string message =
      "method 'step', input 0 'x': the method writes this tensor, which shares memory with input 1 "
      "'y'";
  EXPECT_EQ(refusal(method, {at(0), at(0)}), message);
  EXPECT_EQ(refusal(method, {at(0), at(1)}), message);
  EXPECT_EQ(refusal(method, {at(1), at(0)}), message);
}

TEST(Contract, InputsThatAreOnlyReadMayShareMemory) {
  const MethodSpec method = method_with(parts("", input("x", "[2]") + "," + input("y", "[2]")));
  const Tensor tensor = ints({2});
  EXPECT_EQ(refusal(method, {tensor, tensor}), "accepted");
}

TEST(Contract, EmptyTensorsShareNoMemory) {
  const MethodSpec method =
      method_with(parts("", input("x", "[0]", "int64", "", "0") + "," + input("y", "[2]")));
  std::array<std::int64_t, 2> memory{};
  EXPECT_EQ(refusal(method, {Tensor::borrow(DType::kInt64, {0}, memory.data()).value(),
                             Tensor::borrow(DType::kInt64, {2}, memory.data()).value()}),
            "accepted");
}

}  // namespace
}  // namespace polystate
