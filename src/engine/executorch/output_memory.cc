#include "engine/executorch/output_memory.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

// From here on allocators map memory anew for each object.
constexpr std::size_t kLarge = std::size_t{128} * 1024;

bool is_free(const std::shared_ptr<Tensor>& block) { return block.use_count() == 1; }

}  // namespace

Result<Tensor> OutputMemory::tensor(DType dtype, Shape shape) {
  const std::size_t bytes = element_count(dtype, shape).value_or(0) * size_of(dtype);
  if (bytes < kLarge) return Tensor::empty(dtype, std::move(shape));
  auto block = std::ranges::find_if(blocks_, [bytes](const std::shared_ptr<Tensor>& each) {
    return is_free(each) && each->byte_count() >= bytes;
  });
  if (block == blocks_.end()) {
    std::erase_if(blocks_, is_free);  // too small
    Result<Tensor> memory = Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(bytes)});
    if (!memory) return memory.error();
    blocks_.push_back(std::make_shared<Tensor>(*std::move(memory)));
    block = blocks_.end() - 1;
  }
  // What other threads did to the output before they let go of it has happened.
  std::atomic_thread_fence(std::memory_order_acquire);
  return Tensor::adopt(dtype, std::move(shape), (*block)->mutable_bytes().data(), *block);
}

}  // namespace polystate
