#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {

namespace internal {

// Both write a message to stderr and end the program.
[[noreturn, gnu::cold]] void end_for_other_type(DType wanted, DType found);
[[noreturn, gnu::cold]] void end_for_read_only_tensor();

}  // namespace internal

// A dense, row-major, C-contiguous array. A Tensor is a handle: copies share the memory. The memory
// is either owned (by all handles together) or borrowed from the caller, who keeps it alive while a
// handle exists. One that was moved from has no shape and no elements; it may be assigned to.
class Tensor {
 public:
  Tensor(const Tensor& other) = default;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) = default;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() = default;

  // Bytes to which memory of our own is aligned: a cache line, and the widest SIMD register.
  static constexpr std::size_t kAlignment = 64;

  // Allocates uninitialised memory, aligned to kAlignment. kContract when a size is negative or the
  // bytes overflow; kEngine when the memory is not there.
  static Result<Tensor> empty(DType dtype, Shape shape);

  // Copies `values` (neither bools nor floats of 16 bits); kContract unless `shape` has as many.
  template <typename T>
  static Result<Tensor> of(Shape shape, const std::vector<T>& values) {
    return copy_of(dtype_of<T>(), std::move(shape), std::as_bytes(std::span(values)));
  }

  // Copies `bytes`, which must be exactly as many as dtype and shape need (kContract otherwise).
  static Result<Tensor> copy_of(DType dtype, Shape shape, std::span<const std::byte> bytes);

  // Borrows memory that holds dtype and shape; kContract when `data` is null (unless there are no
  // elements) or not aligned as the elements are. A read-only tensor is refused as an input that a
  // method writes.
  static Result<Tensor> borrow(DType dtype, Shape shape, void* data);
  static Result<Tensor> borrow_read_only(DType dtype, Shape shape, const void* data);

  // As borrow, with an owner that is kept alive by the handles.
  static Result<Tensor> adopt(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner,
                              bool writable = true);

  // A complex tensor as pairs [..., 2] of its parts; any other as it is. The memory is the same.
  [[nodiscard]] Tensor pairs() const;
  // The reverse, for a complex `dtype`; kContract when this tensor is not [..., 2] of its parts.
  [[nodiscard]] Result<Tensor> of_pairs(DType dtype) const;

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t element_count() const { return element_count_; }
  [[nodiscard]] std::size_t byte_count() const { return element_count_ * size_of(dtype_); }
  [[nodiscard]] bool writable() const { return writable_; }

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, byte_count()}; }
  // The memory itself, shared by all handles; only for a writable tensor. Another is a bug of the
  // caller, and ends the program with a message.
  [[nodiscard]] std::span<std::byte> mutable_bytes() const {
    if (!writable_) internal::end_for_read_only_tensor();
    return {data_, byte_count()};
  }

  // The elements, row by row, as T, which is the tensor's dtype. Another is a bug of the caller,
  // and ends the program with a message.
  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    if (dtype_of<T>() != dtype_) internal::end_for_other_type(dtype_of<T>(), dtype_);
    return {reinterpret_cast<const T*>(data_), element_count_};
  }

 private:
  // `shape` was checked.
  Tensor(DType dtype, Shape shape, std::byte* data, std::shared_ptr<void> owner, bool writable);

  DType dtype_;
  Shape shape_;
  std::size_t element_count_;
  std::byte* data_;
  std::shared_ptr<void> owner_;
  bool writable_;
};

}  // namespace polystate
