#include <executorch/runtime/core/error.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/check_failure.h"
#include "kernels/kernel_call.h"
#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

using EtError = executorch::runtime::Error;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of(std::move(shape), values).value();
}

// Takes the failure of a check and says which value it found.
std::string found_by_failed_check() {
  const std::optional<CheckFailure> failure = take_check_failure();
  return failure ? failure->found : "(no check failed)";
}

// Runs check_range on `value` with limits; `out` is where x goes.
EtError check_range(const Tensor& value, std::int64_t low, std::int64_t high, const Tensor& out) {
  const Tensor x = floats({2}, {5, 7});
  return KernelCall("polystate::check_range.out")
      .tensor(x)
      .tensor(value)
      .integer(low)
      .integer(high)
      .integer(3)
      .tensor(out)
      .run(5);
}

template <typename T>
Tensor one(T value) {
  Tensor tensor = Tensor::empty(dtype_of<T>(), {}).value();
  std::memcpy(tensor.mutable_bytes().data(), &value, sizeof(T));
  return tensor;
}

// The bits of a two-byte float.
Tensor one_half(DType dtype, std::uint16_t bits) {
  return Tensor::copy_of(dtype, {}, std::as_bytes(std::span(&bits, 1))).value();
}

TEST(CheckRange, PassesOnXWhenEveryValueIsInside) {
  const Tensor out = floats({2}, {0, 0});
  EXPECT_EQ(check_range(one<std::int64_t>(3), 3, 3, out), EtError::Ok);
  EXPECT_EQ(out.values<float>()[0], 5);
  EXPECT_EQ(out.values<float>()[1], 7);
  EXPECT_FALSE(take_check_failure().has_value());
}

TEST(CheckRange, TakesBothLimitsForEveryType) {
  const std::vector<Tensor> fours = {
      one<std::uint8_t>(4),
      one<std::int8_t>(4),
      one<std::int16_t>(4),
      one<std::int32_t>(4),
      one<std::int64_t>(4),
      one_half(DType::kFloat16, 0x4400),
      one_half(DType::kBFloat16, 0x4080),
      one<float>(4),
      one<double>(4),
  };
  for (const Tensor& four : fours) {
    const Tensor out = floats({2}, {0, 0});
    EXPECT_EQ(check_range(four, 4, 4, out), EtError::Ok) << name_of(four.dtype());
    EXPECT_NE(check_range(four, 5, 9, out), EtError::Ok) << name_of(four.dtype());
    EXPECT_NE(check_range(four, -9, 3, out), EtError::Ok) << name_of(four.dtype());
    EXPECT_TRUE(take_check_failure().has_value());
  }
  EXPECT_EQ(check_range(one(true), 1, 1, floats({2}, {0, 0})), EtError::Ok);
  EXPECT_NE(check_range(one(true), 0, 0, floats({2}, {0, 0})), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "true");
}

TEST(CheckRange, RecordsItsNumberAndTheFirstValueOutside) {
  const Tensor values = Tensor::of<std::int32_t>({2, 2}, {1, 9, -4, 8}).value();
  const Tensor out = floats({2}, {0, 0});
  EXPECT_EQ(check_range(values, 0, 8, out), EtError::InvalidArgument);
  const std::optional<CheckFailure> failure = take_check_failure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->id, 3);
  EXPECT_EQ(failure->found, "9");
  EXPECT_EQ(out.values<float>()[0], 0) << "a check that fails must write nothing";
  EXPECT_FALSE(take_check_failure().has_value()) << "a failure is taken once";
}

TEST(CheckRange, RefusesNotANumberAndInfinity) {
  const Tensor out = floats({2}, {0, 0});
  EXPECT_NE(check_range(one(std::nanf("")), -100, 100, out), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "nan");
  EXPECT_NE(check_range(one(-std::numeric_limits<double>::infinity()), kLowest, 0, out),
            EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "-inf");
}

TEST(CheckRange, AcceptsAnyIntegerBetweenTheExtremes) {
  for (const std::int64_t value : {kLowest, std::int64_t{0}, kHighest}) {
    EXPECT_EQ(check_range(one(value), kLowest, kHighest, floats({2}, {0, 0})), EtError::Ok);
  }
}

TEST(CheckRange, HoldsForNoValues) {
  EXPECT_EQ(check_range(floats({0, 3}, {}), 1, 0, floats({2}, {0, 0})), EtError::Ok);
}

TEST(CheckRange, RefusesAnOutOfAnotherTypeOrSize) {
  EXPECT_EQ(check_range(one<float>(1), 0, 1, Tensor::of<std::int64_t>({2}, {0, 0}).value()),
            EtError::InvalidArgument);
  EXPECT_EQ(check_range(one<float>(1), 0, 1, floats({1}, {0})), EtError::InvalidArgument);
  EXPECT_FALSE(take_check_failure().has_value()) << "that is not what the check looks for";
}

EtError check(const Tensor& ok, const Tensor& out) {
  const Tensor x = floats({2}, {5, 7});
  return KernelCall("polystate::check.out").tensor(x).tensor(ok).integer(4).tensor(out).run(3);
}

TEST(CheckTrue, NeedsEveryElement) {
  const Tensor out = floats({2}, {0, 0});
  EXPECT_EQ(
      check(Tensor::copy_of(DType::kBool, {2}, std::as_bytes(std::span("\1\1", 2))).value(), out),
      EtError::Ok);
  EXPECT_EQ(out.values<float>()[1], 7);
  EXPECT_NE(
      check(Tensor::copy_of(DType::kBool, {2}, std::as_bytes(std::span("\1\0", 2))).value(), out),
      EtError::Ok);
  const std::optional<CheckFailure> failure = take_check_failure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->id, 4);
  EXPECT_EQ(failure->found, "false");
}

TEST(CheckTrue, TakesNoOtherTypeThanBool) {
  EXPECT_EQ(check(one<float>(1), floats({2}, {0, 0})), EtError::InvalidArgument);
}

TEST(CheckSize, TakesBothLimits) {
  const auto check_size = [](std::int64_t value) {
    const Tensor x = floats({1}, {5});
    const Tensor out = floats({1}, {0});
    return KernelCall("polystate::check_size.out")
        .tensor(x)
        .integer(value)
        .integer(2)
        .integer(4)
        .integer(9)
        .tensor(out)
        .run(5);
  };
  EXPECT_EQ(check_size(2), EtError::Ok);
  EXPECT_EQ(check_size(4), EtError::Ok);
  EXPECT_NE(check_size(1), EtError::Ok);
  EXPECT_NE(check_size(5), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "5");
}

EtError check_places(const std::vector<std::int64_t>& positions,
                     const std::vector<std::int64_t>& rows, std::int64_t page) {
  const Tensor x = floats({1}, {5});
  const Tensor out = floats({1}, {0});
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto places = static_cast<std::int64_t>(positions.size());
  return KernelCall("polystate::check_places.out")
      .tensor(x)
      .tensor(Tensor::of<std::int64_t>({2, 2}, {0, kHighest, kLowest, 0}).value())
      .tensor(Tensor::of({places}, positions).value())
      .tensor(Tensor::of({count}, rows).value())
      .integer(page)
      .integer(9)
      .tensor(out)
      .run(6);
}

TEST(CheckPlaces, NamesTheFirstTokenWithoutAPlaceOfItsOwn) {
  EXPECT_EQ(check_places({0, 1, 0, 7}, {0, 0, 1, 0}, 4), EtError::Ok);
  EXPECT_NE(check_places({6, 6, 2, 2}, {1, 0, 1, 0}, 4), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "tokens 0 and 3 both at slot 2 of page 0");
  EXPECT_NE(check_places({0, 1, 8, 1}, {0, 0, 1, 0}, 4), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "token 2 at position 8, which is not between 0 and 7");
  EXPECT_NE(check_places({0, kLowest}, {0, 0}, 4), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(),
            "token 1 at position " + std::to_string(kLowest) + ", which is not between 0 and 7");
  EXPECT_NE(check_places({0, 0}, {kHighest, 0}, 4), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(),
            "token 0 of row " + std::to_string(kHighest) + ", which is not between 0 and 1");
}

EtError check_page_copies(const std::vector<std::int64_t>& source,
                          const std::vector<std::int64_t>& target) {
  const Tensor x = floats({1}, {5});
  const Tensor out = floats({1}, {0});
  const auto sources = static_cast<std::int64_t>(source.size());
  const auto targets = static_cast<std::int64_t>(target.size());
  return KernelCall("polystate::check_page_copies.out")
      .tensor(x)
      .tensor(Tensor::of({sources}, source).value())
      .tensor(Tensor::of({targets}, target).value())
      .integer(9)
      .tensor(out)
      .run(4);
}

TEST(CheckPageCopies, NamesTheFirstPageThatCannotBeCopied) {
  EXPECT_EQ(check_page_copies({}, {}), EtError::Ok);
  EXPECT_EQ(check_page_copies({4, 1, 4, 1}, {0, 2, 3, 2}), EtError::Ok);
  EXPECT_NE(check_page_copies({4, 1, 4, 1}, {0, 2, 2, 4}), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(), "page 2 is the target of pages 1 and 4");
  EXPECT_NE(check_page_copies({4, 1, kHighest}, {0, kHighest, 0}), EtError::Ok);
  EXPECT_EQ(found_by_failed_check(),
            "page " + std::to_string(kHighest) + " is both a source and a target");
  EXPECT_EQ(check_page_copies({0, 1}, {2}), EtError::InvalidArgument);
  EXPECT_FALSE(take_check_failure().has_value());
}

TEST(CheckPlaces, TakesNoPagesOfNothingAndNoOtherCountsOfTokens) {
  for (const std::int64_t page : {std::int64_t{0}, std::int64_t{-1}, kHighest}) {
    EXPECT_EQ(check_places({0}, {0}, page), EtError::InvalidArgument);
  }
  EXPECT_EQ(check_places({0, 1}, {0}, 4), EtError::InvalidArgument);
  EXPECT_FALSE(take_check_failure().has_value());
}

TEST(Checks, RefuseArgumentsOfAnotherKindInsteadOfAborting) {
  const Tensor x = floats({1}, {5});
  EXPECT_EQ(KernelCall("polystate::check.out").tensor(x).integer(1).integer(4).tensor(x).run(3),
            EtError::InvalidArgument);
  EXPECT_EQ(KernelCall("polystate::check.out").tensor(x).tensor(x).run(0),
            EtError::InvalidArgument);
  EXPECT_EQ(KernelCall("polystate::index_put_").tensor(x).tensor(x).tensor(x).boolean(false).run(),
            EtError::InvalidArgument);
}

}  // namespace
}  // namespace polystate
