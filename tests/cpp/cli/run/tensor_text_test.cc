#include "cli/run/tensor_text.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "cli/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

TEST(TensorText, ZeroDimensionalIsTheBareNumber) {
  EXPECT_EQ(tensor_text(Tensor::of<float>({}, {0.1F}).value()), "0.1\n");
}

TEST(TensorText, ElementsAlignUnderOneAnother) {
  const Tensor tensor = Tensor::of<std::int32_t>({2, 2}, {1, -20, 300, 4}).value();
  EXPECT_EQ(tensor_text(tensor), "[[  1, -20],\n [300,   4]]\n");
}

TEST(TensorText, BoolsAreWords) {
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{0}};
  const Tensor tensor = Tensor::copy_of(DType::kBool, {2}, bytes).value();
  EXPECT_EQ(tensor_text(tensor), "[ true, false]\n");
}

TEST(TensorText, ManyElementsAreAbridged) {
  std::vector<std::int64_t> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(tensor_text(Tensor::of<std::int64_t>({2000}, values).value()),
            "[   0,    1,    2, ..., 1997, 1998, 1999]\n");
}

TEST(TensorText, AThousandElementsAreShownInLinesThatFit) {
  const Tensor tensor = Tensor::of<float>({1000}, std::vector<float>(1000, 0.5F)).value();
  std::istringstream text(tensor_text(tensor));
  std::size_t shown = 0;
  for (std::string line; std::getline(text, line);) {
    EXPECT_LE(line.size(), kLineWidth);
    for (std::size_t i = line.find("0.5"); i != std::string::npos; i = line.find("0.5", i + 1)) {
      ++shown;
    }
  }
  EXPECT_EQ(shown, 1000);
}

TEST(TensorText, ATensorWithoutElementsIsShortHoweverLongItsDimensions) {
  EXPECT_EQ(tensor_text(Tensor::empty(DType::kFloat32, {1'000'000'000, 0}).value()), "[]\n");
}

}  // namespace
}  // namespace polystate::cli
