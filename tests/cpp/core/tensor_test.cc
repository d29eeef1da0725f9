#include "polystate/core/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// AddressSanitizer ends the process where an allocation fails, unless it is told otherwise here.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace polystate {
namespace {

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % Tensor::kAlignment == 0;
}

TEST(Tensor, OfKeepsShapeAndValues) {
  const Tensor tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}).value();
  EXPECT_EQ(tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.element_count(), 6);
  EXPECT_EQ(tensor.byte_count(), 24);
  EXPECT_EQ(tensor.values<float>()[5], 6);
  EXPECT_TRUE(tensor.writable());
}

TEST(Tensor, AZeroDimensionalTensorHoldsOneElement) {
  const Tensor tensor = Tensor::of<std::int64_t>({}, {7}).value();
  EXPECT_EQ(tensor.element_count(), 1);
  EXPECT_EQ(tensor.values<std::int64_t>()[0], 7);
}

TEST(Tensor, MemoryOfItsOwnIsAligned) {
  for (const std::int64_t size : {0, 1, 3, 4097}) {
    EXPECT_TRUE(is_aligned(Tensor::empty(DType::kUInt8, {size}).value())) << size;
  }
}

TEST(Tensor, AnEmptyTensorHasMemoryThatIsNotNull) {
  const Tensor tensor = Tensor::empty(DType::kFloat32, {4, 0}).value();
  EXPECT_EQ(tensor.byte_count(), 0);
  EXPECT_NE(tensor.bytes().data(), nullptr);
}

TEST(Tensor, TooFewOrTooManyValuesAreRefused) {
  const Result<Tensor> few = Tensor::of<float>({2, 3}, {1, 2});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kContract);
  EXPECT_EQ(few.error().message,
            "a float32 tensor of shape [2, 3] needs 6 elements (24 bytes), got 8 bytes");
  EXPECT_FALSE(Tensor::of<float>({1}, {1, 2}));
}

TEST(Tensor, ANegativeSizeIsRefused) {
  const Result<Tensor> tensor = Tensor::empty(DType::kFloat32, {2, -3});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kContract);
  EXPECT_EQ(tensor.error().message,
            "a float32 tensor of shape [2, -3]: the size of dimension 1 is negative");
}

TEST(Tensor, MoreBytesThanANumberHoldsAreRefused) {
  const Result<Tensor> tensor = Tensor::empty(DType::kFloat32, {2147483648, 2147483648});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kContract);
  EXPECT_EQ(tensor.error().message,
            "a float32 tensor of shape [2147483648, 2147483648] needs more than 2**63 - 1 bytes");
}

TEST(Tensor, MemoryThatIsNotThereIsAnErrorOfTheEngine) {
  const std::int64_t size = std::numeric_limits<std::int64_t>::max();
  const Result<Tensor> tensor = Tensor::empty(DType::kUInt8, {size});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kEngine);
  EXPECT_EQ(
      tensor.error().message,
      "no memory for a uint8 tensor of shape [9223372036854775807] (9223372036854775807 bytes)");
}

TEST(Tensor, CopiesShareTheMemory) {
  const Tensor tensor = Tensor::of<std::uint8_t>({2}, {1, 2}).value();
  const Tensor other = tensor;  // NOLINT(performance-unnecessary-copy-initialization)
  other.mutable_bytes()[0] = std::byte{9};
  EXPECT_EQ(tensor.values<std::uint8_t>()[0], 9);
}

TEST(Tensor, TheMemoryLivesAsLongAsTheLastHandle) {
  std::optional<Tensor> first = Tensor::of<std::uint8_t>({1}, {42}).value();
  const Tensor second = *first;
  first.reset();
  EXPECT_EQ(second.values<std::uint8_t>()[0], 42);
}

TEST(Tensor, ABorrowedTensorIsTheCallersMemory) {
  std::array<float, 2> memory = {1, 2};
  const Tensor tensor = Tensor::borrow(DType::kFloat32, {2}, memory.data()).value();
  memory[1] = 5;
  EXPECT_EQ(tensor.values<float>()[1], 5);
  EXPECT_EQ(static_cast<const void*>(tensor.bytes().data()), memory.data());
  EXPECT_TRUE(tensor.writable());
}

TEST(Tensor, ATensorBorrowedReadOnlyIsNotWritable) {
  const std::array<float, 2> memory = {1, 2};
  EXPECT_FALSE(Tensor::borrow_read_only(DType::kFloat32, {2}, memory.data()).value().writable());
}

TEST(Tensor, NullIsBorrowedOnlyForNoElements) {
  const Result<Tensor> tensor = Tensor::borrow(DType::kFloat32, {2}, nullptr);
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().message, "a float32 tensor of shape [2] was given no memory");
  EXPECT_TRUE(Tensor::borrow(DType::kFloat32, {0, 2}, nullptr));
}

TEST(Tensor, MemoryThatIsNotAlignedToItsElementsIsRefused) {
  alignas(8) std::array<std::byte, 16> memory{};
  const Result<Tensor> tensor = Tensor::borrow(DType::kInt64, {1}, memory.data() + 4);
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::kContract);
  EXPECT_EQ(tensor.error().message,
            "a int64 tensor of shape [1]: its memory is not aligned to 8 bytes");
  EXPECT_TRUE(Tensor::borrow(DType::kInt32, {1}, memory.data() + 4));
}

TEST(Tensor, ComplexMemoryIsAlignedAsItsPartsAre) {
  alignas(8) std::array<std::byte, 32> memory{};
  EXPECT_TRUE(Tensor::borrow(DType::kComplex64, {1}, memory.data() + 4));
  EXPECT_EQ(Tensor::borrow(DType::kComplex128, {1}, memory.data() + 4).error().message,
            "a complex128 tensor of shape [1]: its memory is not aligned to 8 bytes");
}

TEST(Tensor, AComplexTensorAndItsPairsShareMemory) {
  const Tensor tensor = Tensor::of<std::complex<float>>({2}, {{1, 2}, {3, -4}}).value();
  EXPECT_EQ(tensor.byte_count(), 16);
  const Tensor pairs = tensor.pairs();
  ASSERT_EQ(pairs.dtype(), DType::kFloat32);
  EXPECT_EQ(pairs.shape(), (Shape{2, 2}));
  EXPECT_EQ(pairs.values<float>()[3], -4);
  const Tensor again = pairs.of_pairs(DType::kComplex64).value();
  EXPECT_EQ(again.shape(), (Shape{2}));
  EXPECT_EQ(again.values<std::complex<float>>()[1], std::complex<float>(3, -4));
  EXPECT_EQ(again.bytes().data(), tensor.bytes().data());
}

TEST(Tensor, WhatIsNotComplexIsItsOwnPairs) {
  const Tensor tensor = Tensor::of<float>({3}, {1, 2, 3}).value();
  EXPECT_EQ(tensor.pairs().shape(), (Shape{3}));
  const Result<Tensor> refused = tensor.of_pairs(DType::kComplex64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a float32 tensor of shape [3] has no pairs that are complex64");
  EXPECT_FALSE(Tensor::of<float>({1, 2}, {1, 2}).value().of_pairs(DType::kComplex128));
  EXPECT_FALSE(Tensor::of<float>({}, {1}).value().of_pairs(DType::kComplex64));
}

// NOLINTBEGIN(bugprone-use-after-move)
TEST(Tensor, OneThatWasMovedFromHasNoElementsAndMayBeAssignedTo) {
  Tensor tensor = Tensor::of<float>({3}, {1, 2, 3}).value();
  Tensor taken = std::move(tensor);
  EXPECT_EQ(taken.values<float>()[2], 3);
  EXPECT_TRUE(tensor.bytes().empty());
  EXPECT_TRUE(tensor.shape().empty());
  tensor = Tensor::of<float>({1}, {4}).value();
  taken = std::move(tensor);
  EXPECT_EQ(taken.shape(), (Shape{1}));
  EXPECT_EQ(taken.values<float>()[0], 4);
  EXPECT_TRUE(tensor.values<float>().empty());
}
// NOLINTEND(bugprone-use-after-move)

TEST(TensorDeathTest, EndsTheProgramWhereItsElementsAreReadAsAnotherType) {
  const Tensor tensor = Tensor::of<float>({3}, {1, 2, 3}).value();
  EXPECT_DEATH(static_cast<void>(tensor.values<double>()),
               "the values of a float32 tensor were read as float64");
  EXPECT_DEATH(static_cast<void>(tensor.values<std::int32_t>()), "float32 tensor .* as int32");
}

TEST(TensorDeathTest, EndsTheProgramWhereAReadOnlyOneIsWritten) {
  const float value = 1;
  const Tensor tensor = Tensor::borrow_read_only(DType::kFloat32, {1}, &value).value();
  EXPECT_DEATH(static_cast<void>(tensor.mutable_bytes()), "read-only");
}

TEST(Tensor, AnAdoptedOwnerIsReleasedWithTheLastHandle) {
  auto owner = std::make_shared<std::vector<std::uint8_t>>(3, std::uint8_t{1});
  const std::weak_ptr<std::vector<std::uint8_t>> watch = owner;
  {
    void* data = owner->data();
    const Tensor tensor = Tensor::adopt(DType::kUInt8, {3}, data, std::move(owner)).value();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(tensor.values<std::uint8_t>()[2], 1);
  }
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace polystate
