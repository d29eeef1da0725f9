#include "engine/aoti/tensor_handle.h"

#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "core/strides.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

struct Pair {
  DType ours;
  std::int32_t theirs;
};

const std::array<Pair, 12>& dtypes() {
  static const std::array<Pair, 12> pairs{{
      {DType::kBool, aoti_torch_dtype_bool()},
      {DType::kUInt8, aoti_torch_dtype_uint8()},
      {DType::kInt8, aoti_torch_dtype_int8()},
      {DType::kInt16, aoti_torch_dtype_int16()},
      {DType::kInt32, aoti_torch_dtype_int32()},
      {DType::kInt64, aoti_torch_dtype_int64()},
      {DType::kFloat16, aoti_torch_dtype_float16()},
      {DType::kBFloat16, aoti_torch_dtype_bfloat16()},
      {DType::kFloat32, aoti_torch_dtype_float32()},
      {DType::kFloat64, aoti_torch_dtype_float64()},
      {DType::kComplex64, aoti_torch_dtype_complex64()},
      {DType::kComplex128, aoti_torch_dtype_complex128()},
  }};
  return pairs;
}

// torch_from_blob compares with the device of plain memory, which has no number.
constexpr std::int32_t kAnyDevice = -1;

// A deleter of torch_from_blob.
void free_block(void* /*data*/, void* block) { ::operator delete(block); }

Error refused(const char* what) {
  std::string message = std::string("libtorch cannot ") + what;
  const char* const why = torch_exception_get_what_without_backtrace();
  if (why != nullptr && *why != '\0') message += std::string(": ") + why;
  return Error{ErrorCode::kEngine, message};
}

// Copies the elements of dimension `dimension` and those inside it to `to`, and advances it.
void copy_rows(const TensorView& tensor, std::size_t dimension, const std::byte* from,
               std::byte*& to) {
  const std::size_t size = size_of(tensor.dtype);
  if (dimension == tensor.shape.size()) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  for (std::int64_t i = 0; i < tensor.shape[dimension]; ++i) {
    copy_rows(tensor, dimension + 1, from, to);
    from += tensor.strides[dimension] * static_cast<std::int64_t>(size);
  }
}

}  // namespace

std::int32_t torch_dtype_of(DType dtype) {
  return std::ranges::find(dtypes(), dtype, &Pair::ours)->theirs;
}

Result<TensorHandle> view_of(DType dtype, std::span<const std::int64_t> shape, void* data) {
  const Strides strides = row_major_strides(shape);
  AtenTensorHandle handle = nullptr;
  const AOTITorchError error = aoti_torch_create_tensor_from_blob(
      data, static_cast<std::int64_t>(shape.size()), shape.data(), strides.data(), 0,
      torch_dtype_of(dtype), aoti_torch_device_type_cpu(), 0, &handle);
  if (error != AOTI_TORCH_SUCCESS) return refused("make a tensor");
  return TensorHandle(handle);
}

Result<TensorHandle> new_tensor(DType dtype, std::span<const std::int64_t> shape) {
  const std::optional<std::size_t> count = element_count(dtype, shape);
  if (!count) return Error{ErrorCode::kEngine, "a tensor of shape " + to_string(shape)};
  std::size_t space = *count * size_of(dtype) + Tensor::kAlignment;
  void* const block = ::operator new(space, std::nothrow);
  if (block == nullptr) {
    return Error{ErrorCode::kEngine, "out of memory: " + std::to_string(space) + " bytes"};
  }
  void* data = block;
  std::align(Tensor::kAlignment, space - Tensor::kAlignment, data, space);
  const Strides strides = row_major_strides(shape);
  AtenTensorHandle handle = nullptr;
  const AOTITorchError error =
      torch_from_blob(data, static_cast<std::int64_t>(shape.size()), shape.data(), strides.data(),
                      0, torch_dtype_of(dtype), aoti_torch_device_type_cpu(), kAnyDevice, &handle,
                      aoti_torch_layout_strided(), nullptr, 0, &free_block, block);
  if (error == AOTI_TORCH_SUCCESS) return TensorHandle(handle);
  free_block(data, block);
  return refused("make a tensor");
}

Result<TensorView> view(AtenTensorHandle tensor) {
  void* data = nullptr;
  std::int32_t dtype = 0;
  std::int64_t rank = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  if (aoti_torch_get_data_ptr(tensor, &data) != AOTI_TORCH_SUCCESS ||
      aoti_torch_get_dtype(tensor, &dtype) != AOTI_TORCH_SUCCESS ||
      aoti_torch_get_dim(tensor, &rank) != AOTI_TORCH_SUCCESS ||
      aoti_torch_get_sizes(tensor, &sizes) != AOTI_TORCH_SUCCESS ||
      aoti_torch_get_strides(tensor, &strides) != AOTI_TORCH_SUCCESS) {
    return refused("describe a tensor");
  }
  const auto* const found = std::ranges::find(dtypes(), dtype, &Pair::theirs);
  if (found == dtypes().end()) {
    return Error{ErrorCode::kUnsupported, "elements of libtorch's type " + std::to_string(dtype)};
  }
  const auto count = static_cast<std::size_t>(rank);
  return TensorView{static_cast<std::byte*>(data), found->ours, Shape(sizes, sizes + count),
                    std::span<const std::int64_t>(strides, count)};
}

bool is_row_major(const TensorView& tensor) {
  if (std::ranges::count(tensor.shape, 0) > 0) return true;
  std::int64_t stride = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.shape[i];
  }
  return true;
}

Result<Tensor> copy_of(const TensorView& tensor) {
  Result<Tensor> copy = Tensor::empty(tensor.dtype, tensor.shape);
  if (!copy || copy->element_count() == 0) return copy;
  if (is_row_major(tensor)) {
    std::memcpy(copy->mutable_bytes().data(), tensor.data, copy->byte_count());
  } else {
    std::byte* to = copy->mutable_bytes().data();
    copy_rows(tensor, 0, tensor.data, to);
  }
  return copy;
}

}  // namespace polystate
