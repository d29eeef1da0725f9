#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "polystate/core/dtype.h"

namespace polystate {

// A tensor that a kernel is given: elements in memory of the engine's, which outlives the call.
class TensorArgument {
 public:
  static constexpr std::size_t kMaxRank = 16;

  // A void one, without memory.
  TensorArgument() = default;

  // Of kMaxRank dimensions at the most.
  template <typename Size>
  TensorArgument(DType dtype, std::span<const Size> shape, void* data, bool is_row_major)
      : data_(data), rank_(shape.size()), dtype_(dtype), is_row_major_(is_row_major) {
    assert(shape.size() <= kMaxRank);
    std::ranges::copy(shape, sizes_.begin());
    for (const Size size : shape) element_count_ *= size;
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] int rank() const { return static_cast<int>(rank_); }
  [[nodiscard]] std::span<const std::int64_t> shape() const { return {sizes_.data(), rank_}; }
  // 0 where there is no such dimension.
  [[nodiscard]] std::int64_t size(int dimension) const {
    return dimension >= 0 && dimension < rank() ? sizes_[static_cast<std::size_t>(dimension)] : 0;
  }
  [[nodiscard]] std::int64_t element_count() const { return element_count_; }
  // Whether the elements lie one after another, the last dimension running fastest.
  [[nodiscard]] bool is_row_major() const { return is_row_major_; }

  // The elements, of the tensor's type; an operator writes those that its schema says it does.
  template <typename T>
  [[nodiscard]] const T* data() const {
    return mutable_data<T>();
  }
  [[nodiscard]] std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  template <typename T>
  [[nodiscard]] T* mutable_data() const {
    assert(data_ == nullptr || dtype_of<T>() == dtype_);
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
  std::int64_t element_count_ = 1;
  DType dtype_ = DType::kFloat32;
  bool is_row_major_ = true;
};

}  // namespace polystate
