// A program of its own, since it counts what `operator new` allocates.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "artifact/tiny_artifact.h"
#include "polystate/artifact/contract.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Not inlined: the compiler would see malloc and delete meet, and warn.
// NOLINTBEGIN(cppcoreguidelines-owning-memory)
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-owning-memory)

namespace polystate {
namespace {

TEST(Contract, AcceptingACallAllocatesNothing) {
  const Manifest manifest = Manifest::parse(tiny_manifest()).value();
  const std::vector<Tensor> inputs = {
      Tensor::empty(DType::kFloat32, {4, 12, 20}).value(),
      Tensor::of<std::int64_t>({3}, {0, 1, 3}).value(),
      Tensor::empty(DType::kFloat32, {4}).value(),
  };
  const std::size_t before = allocations;
  const Status status = check_contract(manifest.methods[0], inputs);
  const std::size_t after = allocations;
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(after, before);
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace polystate
