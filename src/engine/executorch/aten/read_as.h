#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executorch/aten/conversions.h"
#include "engine/executorch/aten/elements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {

// Calls `work.operator()<Number>()` with a type that elements of a type can be read and computed
// as: float for floats of 16 bits, std::int32_t for bools and small integers.
template <typename Work>
void with_number_type(DType dtype, const Work& work) {
  if (dtype == DType::kFloat64) return work.template operator()<double>();
  if (is_float(dtype)) return work.template operator()<float>();
  if (dtype == DType::kInt64) return work.template operator()<std::int64_t>();
  work.template operator()<std::int32_t>();
}

// Numbers that are converted at a time, which the processor's nearest cache holds.
inline constexpr std::int64_t kNumbersAtOnce = 512;

// Elements of a row-major tensor, read as numbers of type T (conversions.h says of which) a run at
// a time.
template <typename T>
class ReadAs {
 public:
  ReadAs() = default;
  explicit ReadAs(const TensorArgument& tensor) : ReadAs(tensor.bytes(), tensor.dtype()) {}
  ReadAs(const void* elements, DType dtype)
      : bytes_(static_cast<const std::byte*>(elements)),
        size_(size_of(dtype)),
        convert_(conversion_from<T>(dtype)) {}

  [[nodiscard]] bool converts() const { return convert_ != nullptr; }

  // `count` numbers from an element on: where they lie, or converted in `buffer`, which then has
  // room for them.
  [[nodiscard]] const T* at(std::int64_t place, std::int64_t count, T* buffer) const {
    if (convert_ == nullptr) return reinterpret_cast<const T*>(element(place));
    convert_(element(place), count, buffer);
    return buffer;
  }

  // Copies or converts `count` numbers from an element on.
  void read(std::int64_t place, std::int64_t count, T* to) const {
    const T* const found = at(place, count, to);
    if (found != to) std::copy_n(found, count, to);
  }

  // Calls `work(numbers, some)` for `count` numbers from an element on: for all at once, or for
  // those that are converted at a time.
  template <typename Work>
  void for_each_part(std::int64_t place, std::int64_t count, const Work& work) const {
    if (!converts()) return work(at(place, count, nullptr), count);
    std::array<T, kNumbersAtOnce> buffer;
    for (std::int64_t done = 0; done < count; done += kNumbersAtOnce) {
      const std::int64_t some = std::min(kNumbersAtOnce, count - done);
      work(at(place + done, some, buffer.data()), some);
    }
  }

 private:
  [[nodiscard]] const std::byte* element(std::int64_t place) const {
    return bytes_ + static_cast<std::size_t>(place) * size_;
  }

  const std::byte* bytes_ = nullptr;
  std::size_t size_ = sizeof(T);  // of an element
  ConversionFrom<T> convert_ = nullptr;
};

// Numbers of type T, written as elements of a row-major tensor of any type.
template <typename T>
class WriteAs {
 public:
  explicit WriteAs(const TensorArgument& tensor) : WriteAs(tensor.bytes(), tensor.dtype()) {}
  WriteAs(std::byte* elements, DType dtype)
      : bytes_(elements), size_(size_of(dtype)), convert_(conversion_to<T>(dtype)) {}

  [[nodiscard]] bool converts() const { return convert_ != nullptr; }

  // Where numbers for the elements from `place` on may be left for `put`: where these lie, or in
  // `buffer`, which then has room for them.
  [[nodiscard]] T* room(std::int64_t place, T* buffer) const {
    return convert_ == nullptr ? reinterpret_cast<T*>(element(place)) : buffer;
  }

  // Writes `count` numbers from an element on.
  void put(std::int64_t place, const T* numbers, std::int64_t count) const {
    std::byte* const to = element(place);
    if (convert_ != nullptr) {
      convert_(numbers, count, to);
    } else if (const auto elements = reinterpret_cast<T*>(to); elements != numbers) {
      std::copy_n(numbers, count, elements);
    }
  }

 private:
  [[nodiscard]] std::byte* element(std::int64_t place) const {
    return bytes_ + static_cast<std::size_t>(place) * size_;
  }

  std::byte* bytes_;
  std::size_t size_;  // of an element
  ConversionTo<T> convert_;
};

// The elements of a row-major tensor of any type, as numbers of type T.
template <typename T>
std::vector<T> converted(const TensorArgument& tensor) {
  std::vector<T> numbers(static_cast<std::size_t>(tensor.element_count()));
  ReadAs<T>(tensor).read(0, tensor.element_count(), numbers.data());
  return numbers;
}

// The elements of a row-major tensor as numbers of type T: where they lie, or a copy.
template <typename T>
class NumbersOf {
 public:
  explicit NumbersOf(const TensorArgument& tensor) {
    const ReadAs<T> elements(tensor);
    const std::int64_t count = tensor.element_count();
    if (elements.converts()) converted_.resize(static_cast<std::size_t>(count));
    data_ = elements.at(0, count, converted_.data());
  }
  NumbersOf(const NumbersOf&) = delete;
  NumbersOf& operator=(const NumbersOf&) = delete;

  [[nodiscard]] const T* data() const { return data_; }

 private:
  const T* data_;
  std::vector<T> converted_;
};

// The elements of a row-major tensor as another type has them.
std::vector<std::byte> elements_as(DType dtype, const TensorArgument& tensor);

}  // namespace polystate
