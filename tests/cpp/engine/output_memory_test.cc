#include "engine/executorch/output_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

constexpr std::int64_t kLarge = 1'048'576;

Tensor floats_from(OutputMemory& memory, std::int64_t count) {
  return memory.tensor(DType::kFloat32, {count}).value();
}

TEST(OutputMemory, IsUsedAgainWhenNobodyHoldsIt) {
  OutputMemory memory;
  std::optional<Tensor> first = floats_from(memory, kLarge);
  const std::byte* const place = first->bytes().data();
  first.reset();
  EXPECT_EQ(floats_from(memory, kLarge / 2).bytes().data(), place);
}

TEST(OutputMemory, IsLeftToThoseWhoHoldIt) {
  OutputMemory memory;
  const Tensor first = floats_from(memory, kLarge);
  const Tensor copy = floats_from(memory, kLarge);
  EXPECT_NE(copy.bytes().data(), first.bytes().data());
}

TEST(OutputMemory, OutlivesItsOwner) {
  std::optional<OutputMemory> memory(std::in_place);
  const Tensor held = floats_from(*memory, kLarge);
  memory.reset();
  held.mutable_bytes()[4 * kLarge - 1] = std::byte{7};
  EXPECT_EQ(held.bytes()[4 * kLarge - 1], std::byte{7});
}

TEST(OutputMemory, GrowsWithWhatIsAskedFor) {
  OutputMemory memory;
  EXPECT_EQ(floats_from(memory, kLarge).element_count(), 1'048'576U);
  EXPECT_EQ(floats_from(memory, 2 * kLarge).element_count(), 2'097'152U);
  EXPECT_EQ(floats_from(memory, 3).element_count(), 3U);
}

TEST(OutputMemory, RefusesShapesThatNoTensorHas) {
  OutputMemory memory;
  EXPECT_EQ(memory.tensor(DType::kFloat32, {-1}).error().code, ErrorCode::kContract);
  EXPECT_EQ(memory.tensor(DType::kFloat32, {INT64_MAX, 2}).error().code, ErrorCode::kContract);
}

}  // namespace
}  // namespace polystate
