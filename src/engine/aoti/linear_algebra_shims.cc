// PyTorch's operators of linear algebra whose results have signs to be chosen, or that take texts,
// as libraries of AOTInductor call them: libtorch has them, but no C form of theirs. The exporter
// declares these to AOTInductor from the operators' schemas
// (python/polystate/export/lowering/inductor.py).
#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/aoti/dispatcher.h"
#include "engine/aoti/operator_failure.h"
#include "engine/aoti/tensor_handle.h"
#include "kernels/vector_sign.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct None {};

// A value as libtorch's dispatcher takes it.
template <typename Value>
StableIValue bits_of(Value value) {
  static_assert(sizeof(Value) <= sizeof(StableIValue));
  StableIValue bits = 0;
  std::memcpy(&bits, static_cast<const void*>(&value), sizeof(Value));
  return bits;
}

struct DeleteString {
  void operator()(StringHandle handle) const { (void)torch_delete_string(handle); }
};
using OwnedString = std::unique_ptr<std::remove_pointer_t<StringHandle>, DeleteString>;

// A value on its way to libtorch's dispatcher, which deletes the handles that it is given.
class Passed {
 public:
  explicit Passed(bool value) : bits_(bits_of(value)) {}
  explicit Passed(None /*value*/) {}
  explicit Passed(const double* number) {
    if (number != nullptr) number_ = std::make_unique<StableIValue>(bits_of(*number));
  }
  explicit Passed(AtenTensorHandle tensor) {
    AtenTensorHandle copy = nullptr;
    is_there_ = aoti_torch_new_tensor_handle(tensor, &copy) == AOTI_TORCH_SUCCESS;
    if (is_there_) tensor_.reset(copy);
  }
  explicit Passed(const char* text) {
    StringHandle copy = nullptr;
    const std::size_t size = std::string_view(text).size();
    is_there_ = torch_new_string_handle(text, size, &copy) == AOTI_TORCH_SUCCESS;
    if (is_there_) text_.reset(copy);
  }

  // False where libtorch made no handle.
  [[nodiscard]] bool is_there() const { return is_there_; }

  StableIValue release() {
    if (tensor_) return bits_of(tensor_.release());
    if (text_) return bits_of(text_.release());
    return number_ ? bits_of(number_.release()) : bits_;
  }

 private:
  bool is_there_ = true;
  StableIValue bits_ = 0;
  TensorHandle tensor_;
  OwnedString text_;
  std::unique_ptr<StableIValue> number_;  // that may be absent
};

AOTITorchError finished(const char* name, const Status& status) {
  if (status) return AOTI_TORCH_SUCCESS;
  record_operator_failure({status.error().code, std::string(name) + ": " + status.error().message});
  return AOTI_TORCH_FAILURE;
}

// What an operator gave; none is left behind where what follows fails.
template <std::size_t kCount>
using Results = std::array<TensorHandle, kCount>;

template <std::size_t kCount, typename... Values>
AOTITorchError call(const char* name, Results<kCount>& results, Values... values) {
  std::array<Passed, sizeof...(Values)> passed = {Passed(values)...};
  if (!std::ranges::all_of(passed, &Passed::is_there)) {
    return finished(name, Error{ErrorCode::kEngine, "libtorch has no memory for an argument"});
  }
  std::array<StableIValue, std::max(kCount, sizeof...(Values))> stack{};
  std::ranges::transform(passed, stack.begin(), &Passed::release);
  if (polystate_call_dispatcher(name, "", stack.data()) != AOTI_TORCH_SUCCESS) {
    return AOTI_TORCH_FAILURE;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    AtenTensorHandle result = nullptr;
    std::memcpy(static_cast<void*>(&result), &stack[i], sizeof(AtenTensorHandle));
    results[i].reset(result);
  }
  return AOTI_TORCH_SUCCESS;
}

// Hands a result to the library, if it wants one.
void give(TensorHandle& result, AtenTensorHandle* to) {
  if (to != nullptr) *to = result.release();
}

// The vectors that a tensor has along its last dimension but one, or along the last one.
class Vectors {
 public:
  Vectors(TensorView tensor, bool are_rows) : tensor_(std::move(tensor)) {
    const std::size_t rank = tensor_.shape.size();
    along_ = rank - (are_rows ? 1 : 2);
    across_ = rank - (are_rows ? 2 : 1);
    for (std::size_t i = 0; i + 2 < rank; ++i) batch_ *= tensor_.shape[i];
  }

  [[nodiscard]] std::int64_t batch() const { return batch_; }
  [[nodiscard]] std::int64_t count() const { return tensor_.shape[across_]; }
  [[nodiscard]] bool has_other_sign(std::int64_t batch, std::int64_t vector) const {
    const std::int64_t at = place(batch, vector);
    if (tensor_.dtype == DType::kFloat32) {
      return polystate::has_other_sign(elements<float>() + at, size(), stride());
    }
    return polystate::has_other_sign(elements<double>() + at, size(), stride());
  }
  void negate(std::int64_t batch, std::int64_t vector) const {
    const std::int64_t at = place(batch, vector);
    for (std::int64_t i = 0; i < size(); ++i) {
      if (tensor_.dtype == DType::kFloat32) {
        elements<float>()[at + i * stride()] *= -1;
      } else {
        elements<double>()[at + i * stride()] *= -1;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t size() const { return tensor_.shape[along_]; }
  [[nodiscard]] std::int64_t stride() const { return tensor_.strides[along_]; }
  template <typename T>
  [[nodiscard]] T* elements() const {
    return reinterpret_cast<T*>(tensor_.data);
  }
  [[nodiscard]] std::int64_t place(std::int64_t batch, std::int64_t vector) const {
    std::int64_t at = vector * tensor_.strides[across_];
    for (std::size_t i = tensor_.shape.size() - 2; i > 0; --i) {
      at += batch % tensor_.shape[i - 1] * tensor_.strides[i - 1];
      batch /= tensor_.shape[i - 1];
    }
    return at;
  }

  TensorView tensor_;
  std::size_t along_ = 0;
  std::size_t across_ = 0;
  std::int64_t batch_ = 1;
};

// Chooses the signs of vectors, and of `partners` with the first `shared` of them.
void choose_signs(const Vectors& vectors, const Vectors* partners, std::int64_t shared) {
  for (std::int64_t batch = 0; batch < vectors.batch(); ++batch) {
    for (std::int64_t i = 0; i < vectors.count(); ++i) {
      if (!vectors.has_other_sign(batch, i)) continue;
      vectors.negate(batch, i);
      if (i < shared) partners->negate(batch, i);
    }
    for (std::int64_t i = shared; partners != nullptr && i < partners->count(); ++i) {
      if (partners->has_other_sign(batch, i)) partners->negate(batch, i);
    }
  }
}

Result<Vectors> vectors_of(AtenTensorHandle tensor, bool are_rows) {
  Result<TensorView> found = view(tensor);
  if (!found) return found.error();
  return Vectors(*std::move(found), are_rows);
}

Status choose_signs_of_eigenvectors(AtenTensorHandle eigenvectors) {
  const Result<Vectors> vectors = vectors_of(eigenvectors, false);
  if (!vectors) return vectors.error();
  choose_signs(*vectors, nullptr, 0);
  return {};
}

Status choose_signs_of_singular_vectors(AtenTensorHandle u, AtenTensorHandle vh) {
  const Result<Vectors> left = vectors_of(u, false);
  if (!left) return left.error();
  const Result<Vectors> right = vectors_of(vh, true);
  if (!right) return right.error();
  choose_signs(*left, &*right, std::min(left->count(), right->count()));
  return {};
}

}  // namespace

// NOLINTBEGIN(readability-function-size, bugprone-reserved-identifier): libraries call them so
extern "C" {

#define POLYSTATE_SHIM __attribute__((visibility("default"))) AOTITorchError

POLYSTATE_SHIM aoti_torch_cpu_linalg_qr(AtenTensorHandle a, const char* mode, AtenTensorHandle* q,
                                        AtenTensorHandle* r) {
  Results<2> results;
  const AOTITorchError error = call<2>("aten::linalg_qr", results, a, mode);
  if (error != AOTI_TORCH_SUCCESS) return error;
  give(results[0], q);
  give(results[1], r);
  return AOTI_TORCH_SUCCESS;
}

POLYSTATE_SHIM aoti_torch_cpu__linalg_eigh(AtenTensorHandle a, const char* uplo,
                                           std::int32_t compute_v, AtenTensorHandle* eigenvalues,
                                           AtenTensorHandle* eigenvectors) {
  constexpr const char* kName = "aten::_linalg_eigh";
  Results<2> results;
  const AOTITorchError error = call<2>(kName, results, a, uplo, compute_v != 0);
  if (error != AOTI_TORCH_SUCCESS) return error;
  if (compute_v != 0) {
    const Status chosen = choose_signs_of_eigenvectors(results[1].get());
    if (!chosen) return finished(kName, chosen);
  }
  give(results[0], eigenvalues);
  give(results[1], eigenvectors);
  return AOTI_TORCH_SUCCESS;
}

// With PyTorch's usual driver: others have other results.
POLYSTATE_SHIM aoti_torch_cpu_linalg_lstsq(AtenTensorHandle a, AtenTensorHandle b,
                                           const double* rcond, const char* const* driver,
                                           AtenTensorHandle* solution, AtenTensorHandle* residuals,
                                           AtenTensorHandle* rank,
                                           AtenTensorHandle* singular_values) {
  constexpr const char* kName = "aten::linalg_lstsq";
  if (driver != nullptr && std::string_view(*driver) != "gelsy") {
    return finished(kName, Error{ErrorCode::kEngine, "driver is not 'gelsy'"});
  }
  Results<4> results;
  const AOTITorchError error = call<4>(kName, results, a, b, rcond, None());
  if (error != AOTI_TORCH_SUCCESS) return error;
  give(results[0], solution);
  give(results[1], residuals);
  give(results[2], rank);
  give(results[3], singular_values);
  return AOTI_TORCH_SUCCESS;
}

// `driver` is for other devices than a CPU.
POLYSTATE_SHIM aoti_torch_cpu__linalg_svd(AtenTensorHandle a, std::int32_t full_matrices,
                                          std::int32_t compute_uv, const char** /*driver*/,
                                          AtenTensorHandle* u, AtenTensorHandle* s,
                                          AtenTensorHandle* vh) {
  constexpr const char* kName = "aten::_linalg_svd";
  Results<3> results;
  const AOTITorchError error =
      call<3>(kName, results, a, full_matrices != 0, compute_uv != 0, None());
  if (error != AOTI_TORCH_SUCCESS) return error;
  if (compute_uv != 0) {
    const Status chosen = choose_signs_of_singular_vectors(results[0].get(), results[2].get());
    if (!chosen) return finished(kName, chosen);
  }
  give(results[0], u);
  give(results[1], s);
  give(results[2], vh);
  return AOTI_TORCH_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-function-size, bugprone-reserved-identifier)

}  // namespace polystate
