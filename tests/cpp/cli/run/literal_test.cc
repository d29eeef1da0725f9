#include "cli/run/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

std::string message_of(std::string_view text, DType dtype) {
  const Result<Tensor> tensor = parse_literal(text, dtype);
  if (tensor) return "it was read";
  EXPECT_EQ(tensor.error().code, ErrorCode::kContract);
  return tensor.error().message;
}

TEST(Literal, ABareNumberIsZeroDimensional) {
  const Tensor tensor = parse_literal("-3", DType::kInt64).value();
  EXPECT_EQ(tensor.shape(), Shape{});
  EXPECT_EQ(tensor.values<std::int64_t>()[0], -3);
}

TEST(Literal, BracketsGiveTheShape) {
  const Tensor tensor = parse_literal(" [[1, 2.5],[ -3e2 ,nan]] ", DType::kFloat32).value();
  EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(tensor.values<float>()[1], 2.5F);
  EXPECT_EQ(tensor.values<float>()[2], -300.0F);
  EXPECT_TRUE(std::isnan(tensor.values<float>()[3]));
}

TEST(Literal, EmptyListsAreDimensionsOfNoSize) {
  EXPECT_EQ(parse_literal("[]", DType::kFloat32).value().shape(), (Shape{0}));
  EXPECT_EQ(parse_literal("[[],[]]", DType::kFloat32).value().shape(), (Shape{2, 0}));
}

TEST(Literal, ElementsTakeTheInputsDtype) {
  EXPECT_EQ(parse_literal("true", DType::kBool).value().bytes()[0], std::byte{1});
  EXPECT_EQ(parse_literal("255", DType::kUInt8).value().bytes()[0], std::byte{255});
  EXPECT_EQ(parse_literal("inf", DType::kFloat64).value().values<double>()[0],
            std::numeric_limits<double>::infinity());
  const Tensor half = parse_literal("[1]", DType::kFloat16).value();
  EXPECT_EQ(half.bytes()[1], std::byte{0x3C});
  const Tensor brain = parse_literal("[1]", DType::kBFloat16).value();
  EXPECT_EQ(brain.bytes()[1], std::byte{0x3F});
}

TEST(Literal, ComplexNumbersAreWrittenAsInPython) {
  using Complex = std::complex<float>;
  const Tensor tensor =
      parse_literal("[1, -2j, 1.5+2j, -1e3-2.5e-1j, 1e+2j]", DType::kComplex64).value();
  EXPECT_EQ(tensor.shape(), (Shape{5}));
  EXPECT_EQ(tensor.values<Complex>()[0], Complex(1, 0));
  EXPECT_EQ(tensor.values<Complex>()[1], Complex(0, -2));
  EXPECT_EQ(tensor.values<Complex>()[2], Complex(1.5, 2));
  EXPECT_EQ(tensor.values<Complex>()[3], Complex(-1000, -0.25));
  EXPECT_EQ(tensor.values<Complex>()[4], Complex(0, 100));
  const Tensor infinite = parse_literal("nan-infj", DType::kComplex128).value();
  EXPECT_TRUE(std::isnan(infinite.values<std::complex<double>>()[0].real()));
  EXPECT_EQ(infinite.values<std::complex<double>>()[0].imag(),
            -std::numeric_limits<double>::infinity());
  for (const std::string_view word : {"j", "1+j", "1+-2j", "1j+2", "1+2", "1+2i", "1e400j"}) {
    EXPECT_EQ(message_of(word, DType::kComplex128),
              "'" + std::string(word) + "' is no complex128, at character 1");
  }
}

TEST(Literal, TheLargestIntegersAreExact) {
  EXPECT_EQ(parse_literal("9223372036854775807", DType::kInt64).value().values<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_literal("-9223372036854775808", DType::kInt64).value().values<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::min());
}

TEST(Literal, AnElementThatIsNoneOfTheDtypeIsNamed) {
  EXPECT_EQ(message_of("[1, 256]", DType::kUInt8), "'256' is no uint8 (0 to 255), at character 5");
  EXPECT_EQ(message_of("1.5", DType::kInt8), "'1.5' is no int8 (-128 to 127), at character 1");
  EXPECT_EQ(message_of("70000", DType::kFloat16), "'70000' is no float16, at character 1");
  EXPECT_EQ(message_of("1e400", DType::kFloat64), "'1e400' is no float64, at character 1");
  EXPECT_EQ(message_of("2", DType::kBool), "'2' is no bool, at character 1");
  EXPECT_EQ(message_of("", DType::kFloat32), "'' is no float32, at character 1");
}

TEST(Literal, RaggedListsAreRefused) {
  EXPECT_EQ(message_of("[[1, 2], [3]]", DType::kFloat32),
            "a list of 1 stands beside one of 2, at character 13");
  EXPECT_EQ(message_of("[1, [2]]", DType::kFloat32), "a list stands among numbers, at character 5");
  EXPECT_EQ(message_of("[[1], 2]", DType::kFloat32), "a number stands among lists, at character 7");
  EXPECT_EQ(message_of("[[], [[1]]]", DType::kFloat32),
            "a list stands among numbers, at character 7");
}

TEST(Literal, MalformedTextIsRefused) {
  EXPECT_EQ(message_of("[1, 2", DType::kFloat32), "',' or ']' is missing, at character 6");
  EXPECT_EQ(message_of("[1] 2", DType::kFloat32), "something follows the value, at character 5");
  EXPECT_EQ(message_of("[1,]", DType::kFloat32), "'' is no float32, at character 4");
}

TEST(Literal, DeepNestingIsRefusedBeforeItCostsTheStack) {
  EXPECT_EQ(message_of(std::string(1'000'000, '['), DType::kFloat32),
            "lists nest at most 8 deep, at character 9");
}

}  // namespace
}  // namespace polystate::cli
