#include "polystate/core/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

struct AlignedDelete {
  void operator()(void* data) const {
    ::operator delete(data, std::align_val_t{Tensor::kAlignment});
  }
};

std::string describe(DType dtype, const Shape& shape) {
  return "a " + std::string(name_of(dtype)) + " tensor of shape " + to_string(shape);
}

// As element_count, with a message.
Result<std::size_t> checked_element_count(DType dtype, const Shape& shape) {
  const std::optional<std::size_t> count = element_count(dtype, shape);
  if (count) return *count;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    return Error{ErrorCode::kContract, describe(dtype, shape) + ": the size of dimension " +
                                           std::to_string(i) + " is negative"};
  }
  return Error{ErrorCode::kContract, describe(dtype, shape) + " needs more than 2**63 - 1 bytes"};
}

}  // namespace

void internal::end_for_other_type(DType wanted, DType found) {
  std::fprintf(stderr, "polystate: the values of a %s tensor were read as %s\n",
               std::string(name_of(found)).c_str(), std::string(name_of(wanted)).c_str());
  std::abort();
}

void internal::end_for_read_only_tensor() {
  std::fputs("polystate: a tensor that is read-only was written\n", stderr);
  std::abort();
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      element_count_(std::exchange(other.element_count_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      owner_(std::move(other.owner_)),
      writable_(other.writable_) {
  other.shape_.clear();
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  other.shape_.clear();
  element_count_ = std::exchange(other.element_count_, 0);
  data_ = std::exchange(other.data_, nullptr);
  owner_ = std::move(other.owner_);
  writable_ = other.writable_;
  return *this;
}

Tensor::Tensor(DType dtype, Shape shape, std::byte* data, std::shared_ptr<void> owner,
               bool writable)
    : dtype_(dtype),
      shape_(std::move(shape)),
      element_count_(polystate::element_count(dtype, shape_).value_or(0)),
      data_(data),
      owner_(std::move(owner)),
      writable_(writable) {}

Result<Tensor> Tensor::empty(DType dtype, Shape shape) {
  const Result<std::size_t> count = checked_element_count(dtype, shape);
  if (!count) return count.error();
  const std::size_t bytes = *count * size_of(dtype);
  void* data =
      ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return Error{ErrorCode::kEngine, "no memory for " + describe(dtype, shape) + " (" +
                                         std::to_string(bytes) + " bytes)"};
  }
  return Tensor(dtype, std::move(shape), static_cast<std::byte*>(data),
                std::shared_ptr<void>(data, AlignedDelete{}), true);
}

Result<Tensor> Tensor::copy_of(DType dtype, Shape shape, std::span<const std::byte> bytes) {
  const Result<std::size_t> count = checked_element_count(dtype, shape);
  if (!count) return count.error();
  if (bytes.size() != *count * size_of(dtype)) {
    return Error{ErrorCode::kContract, describe(dtype, shape) + " needs " + std::to_string(*count) +
                                           " elements (" + std::to_string(*count * size_of(dtype)) +
                                           " bytes), got " + std::to_string(bytes.size()) +
                                           " bytes"};
  }
  Result<Tensor> tensor = empty(dtype, std::move(shape));
  if (tensor && !bytes.empty()) std::memcpy(tensor->data_, bytes.data(), bytes.size());
  return tensor;
}

Result<Tensor> Tensor::borrow(DType dtype, Shape shape, void* data) {
  return adopt(dtype, std::move(shape), data, nullptr, true);
}

Result<Tensor> Tensor::borrow_read_only(DType dtype, Shape shape, const void* data) {
  return adopt(dtype, std::move(shape), const_cast<void*>(data), nullptr, false);
}

Result<Tensor> Tensor::adopt(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner,
                             bool writable) {
  const Result<std::size_t> count = checked_element_count(dtype, shape);
  if (!count) return count.error();
  if (data == nullptr && *count > 0) {
    return Error{ErrorCode::kContract, describe(dtype, shape) + " was given no memory"};
  }
  if (reinterpret_cast<std::uintptr_t>(data) % alignment_of(dtype) != 0) {
    return Error{ErrorCode::kContract, describe(dtype, shape) + ": its memory is not aligned to " +
                                           std::to_string(alignment_of(dtype)) + " bytes"};
  }
  return Tensor(dtype, std::move(shape), static_cast<std::byte*>(data), std::move(owner), writable);
}

Tensor Tensor::pairs() const {
  const std::optional<DType> part = part_of(dtype_);
  if (!part) return *this;
  Shape shape = shape_;
  shape.push_back(2);
  return {*part, std::move(shape), data_, owner_, writable_};
}

Result<Tensor> Tensor::of_pairs(DType dtype) const {
  if (part_of(dtype) != dtype_ || shape_.empty() || shape_.back() != 2) {
    return Error{ErrorCode::kContract, describe(dtype_, shape_) + " has no pairs that are " +
                                           std::string(name_of(dtype))};
  }
  return Tensor(dtype, Shape(shape_.begin(), shape_.end() - 1), data_, owner_, writable_);
}

}  // namespace polystate
