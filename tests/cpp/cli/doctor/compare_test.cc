#include "cli/doctor/compare.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor doubles(const std::vector<double>& values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values).value();
}

std::optional<Difference> difference_between(const Tensor& expected, const Tensor& found,
                                             const Tolerance& tolerance) {
  return first_difference(Recorded::whole(expected), found, tolerance);
}

// The difference that there must be.
Difference difference_of(const Tensor& expected, const Tensor& found, const Tolerance& tolerance) {
  const std::optional<Difference> difference = difference_between(expected, found, tolerance);
  EXPECT_TRUE(difference.has_value());
  return difference.value_or(Difference{});
}

TEST(Compare, EqualTensorsDoNotDiffer) {
  EXPECT_FALSE(difference_between(doubles({1, 2}), doubles({1, 2}), {}).has_value());
}

TEST(Compare, OfSomePlacesTheOthersMayDiffer) {
  const Tensor found = Tensor::of<float>({2, 3}, {9, 1, 9, 9, 2, 9}).value();
  const auto recorded = [](float last) {
    return Recorded{
        Tensor::of<float>({2}, {1, last}).value(), {2, 3}, std::vector<std::size_t>{1, 4}};
  };
  EXPECT_FALSE(first_difference(recorded(2), found, {}).has_value());
  const std::optional<Difference> difference = first_difference(recorded(3), found, {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->place, "[1, 1]");
  EXPECT_EQ(difference->expected, "3");
  EXPECT_EQ(difference->found, "2");
}

TEST(Compare, BothPartsOfAComplexNumberCountByThemselves) {
  const auto complex = [](const std::vector<std::complex<float>>& values) {
    return Tensor::of<std::complex<float>>({2}, values).value();
  };
  const Tensor expected = complex({{1, 2}, {4, -1}});
  EXPECT_FALSE(difference_between(expected, complex({{1, 2}, {4.25, -1}}), {0.125, 0}).has_value());
  const Difference difference = difference_of(expected, complex({{1, 2}, {4, -1.25}}), {0.125, 0});
  EXPECT_EQ(difference.place, "[1]");
  EXPECT_EQ(difference.expected, "4-1j");
  EXPECT_EQ(difference.found, "4-1.25j");
  EXPECT_EQ(difference.limit, "0.125");
}

TEST(Compare, OfSomePlacesBothPartsAreCompared) {
  const Tensor found = Tensor::of<std::complex<double>>({3}, {{9, 9}, {1, 2}, {3, 4}}).value();
  const Recorded recorded{Tensor::of<std::complex<double>>({2}, {{1, 2}, {3, 5}}).value(),
                          {3},
                          std::vector<std::size_t>{1, 2}};
  const std::optional<Difference> difference = first_difference(recorded, found, {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->place, "[2]");
  EXPECT_EQ(difference->found, "3+4j");
}

TEST(Compare, TheFirstElementOverTheLimitIsNamed) {
  const Tensor expected = Tensor::of<float>({2, 2}, {1, 2, 4, 8}).value();
  const Tensor found = Tensor::of<float>({2, 2}, {1, 2.25, 5, 0}).value();
  const Difference difference = difference_of(expected, found, {0.125, 0.03125});
  EXPECT_EQ(difference.place, "[1, 0]");
  EXPECT_EQ(difference.expected, "4");
  EXPECT_EQ(difference.found, "5");
  EXPECT_EQ(difference.limit, "0.75");
}

TEST(Compare, TheLimitItselfIsAllowed) {
  EXPECT_FALSE(difference_between(doubles({4}), doubles({4.75}), {0.125, 0.0625}).has_value());
  EXPECT_TRUE(difference_between(doubles({4}), doubles({4.7500001}), {0.125, 0.0625}).has_value());
}

TEST(Compare, TheAbsoluteLimitGrowsWithTheTensorsLargestElement) {
  EXPECT_FALSE(difference_between(doubles({0, 100}), doubles({1, 100}), {0, 0.01}).has_value());
  EXPECT_EQ(difference_of(doubles({0, 0.5}), doubles({1, 0.5}), {0, 0.01}).limit, "0.01");
}

TEST(Compare, AMaskDoesNotWidenTheLimit) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const Tensor expected = Tensor::of<float>({3}, {1, kLowest, -kLowest}).value();
  const Tensor found = Tensor::of<float>({3}, {2, kLowest, -kLowest}).value();
  EXPECT_EQ(difference_of(expected, found, {0, 0.5}).limit, "0.5");
}

TEST(Compare, WhatIsEqualAndMuchLargerDoesNotWidenTheLimit) {
  const Tensor expected = doubles({1, -1e9, 50});
  EXPECT_EQ(difference_of(expected, doubles({3, -1e9, 50}), {0, 0.01}).limit, "0.5");
  EXPECT_FALSE(difference_between(expected, doubles({3, -1e9 + 1, 50}), {0, 0.01}).has_value());
}

TEST(Compare, NaNEqualsNaNOnly) {
  EXPECT_FALSE(difference_between(doubles({kNaN}), doubles({kNaN}), {}).has_value());
  EXPECT_TRUE(difference_between(doubles({kNaN}), doubles({1}), {1, kInfinity}).has_value());
  EXPECT_TRUE(difference_between(doubles({1}), doubles({kNaN}), {1, kInfinity}).has_value());
}

TEST(Compare, AnInfinityEqualsItselfOnly) {
  EXPECT_FALSE(difference_between(doubles({-kInfinity}), doubles({-kInfinity}), {}).has_value());
  EXPECT_TRUE(difference_between(doubles({kInfinity}), doubles({-kInfinity}), {1, 1}).has_value());
  EXPECT_TRUE(difference_between(doubles({kInfinity}), doubles({1e308}), {1, 1}).has_value());
}

TEST(Compare, IntegersMustBeEqualWhateverTheTolerance) {
  const Tensor expected = Tensor::of<std::int64_t>({}, {9007199254740993}).value();
  const Tensor found = Tensor::of<std::int64_t>({}, {9007199254740992}).value();
  const Difference difference = difference_of(expected, found, {1, 1});
  EXPECT_EQ(difference.place, "[]");
  EXPECT_EQ(difference.expected, "9007199254740993");
  EXPECT_EQ(difference.limit, "");
}

TEST(Compare, AnotherDtypeOrShapeIsADifference) {
  const Tensor row = Tensor::of<float>({1, 2}, {1, 2}).value();
  const Tensor column = Tensor::of<float>({2, 1}, {1, 2}).value();
  EXPECT_EQ(difference_of(row, column, {}).place, "shape");
  EXPECT_EQ(difference_of(row, doubles({1, 2}), {}).place, "dtype");
}

}  // namespace
}  // namespace polystate::cli
