#pragma once

#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

struct DeleteTensor {
  void operator()(AtenTensorHandle handle) const { (void)aoti_torch_delete_tensor_object(handle); }
};

// A tensor of libtorch.
using TensorHandle = std::unique_ptr<std::remove_pointer_t<AtenTensorHandle>, DeleteTensor>;
using SharedTensor = std::shared_ptr<std::remove_pointer_t<AtenTensorHandle>>;

// PyTorch's number of a type.
std::int32_t torch_dtype_of(DType dtype);

// A tensor over memory of ours, row by row, which outlives it. kEngine when libtorch refuses.
Result<TensorHandle> view_of(DType dtype, std::span<const std::int64_t> shape, void* data);

// A tensor with memory of its own, row by row. kEngine when there is none, or libtorch refuses. Not
// libtorch's own memory: what posix_memalign had is hardly used again by glibc before 2.38, so that
// large results of changing sizes take more and more.
Result<TensorHandle> new_tensor(DType dtype, std::span<const std::int64_t> shape);

// What a tensor is, and where its elements lie.
struct TensorView {
  std::byte* data;
  DType dtype;
  Shape shape;
  std::span<const std::int64_t> strides;  // in elements; valid as long as the tensor
};

// kUnsupported for a type that is no DType.
Result<TensorView> view(AtenTensorHandle tensor);

bool is_row_major(const TensorView& tensor);
// The elements row by row. Errors as Tensor::empty.
Result<Tensor> copy_of(const TensorView& tensor);

}  // namespace polystate
