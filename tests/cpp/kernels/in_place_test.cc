#include <executorch/runtime/core/error.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_call.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"
#include "support/test_files.h"

// The operators that write in place, against what PyTorch made of the same calls
// (tests/fixtures/kernel_cases.py).
namespace polystate {
namespace {

using EtError = executorch::runtime::Error;
using Order = std::vector<std::int64_t>;

// The arrays of one call by name.
using Case = std::map<std::string, Tensor>;

constexpr std::array kTypes = {DType::kBool,    DType::kUInt8,  DType::kInt8,    DType::kInt16,
                               DType::kInt32,   DType::kInt64,  DType::kFloat16, DType::kBFloat16,
                               DType::kFloat32, DType::kFloat64};

// Every case of an operator, by its number.
std::map<std::string, Case> cases_of(const std::string& op) {
  const auto arrays = read_npz(fixture("kernel_cases.npz"));
  EXPECT_TRUE(arrays) << arrays.error().message;
  std::map<std::string, Case> cases;
  for (const auto& [key, array] : *arrays) {
    const std::size_t first = key.find('/');
    const std::size_t second = key.find('/', first + 1);
    if (key.substr(first + 1, second - first - 1) == op) {
      cases[key.substr(0, first)].emplace(key.substr(second + 1), array);
    }
  }
  return cases;
}

Order integers(const Tensor& tensor) {
  const auto values = tensor.values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Elements moved between row-major order and an order of dimensions in memory.
Tensor moved(const Tensor& tensor, const Order& order, bool to_order) {
  const std::size_t rank = tensor.shape().size();
  const std::size_t width = size_of(tensor.dtype());
  Order strides(rank);
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    strides[static_cast<std::size_t>(order[i])] = stride;
    stride *= tensor.shape()[static_cast<std::size_t>(order[i])];
  }
  Tensor result = Tensor::empty(tensor.dtype(), tensor.shape()).value();
  for (std::size_t k = 0; k < tensor.element_count(); ++k) {
    std::int64_t rest = static_cast<std::int64_t>(k);
    std::size_t place = 0;
    for (std::size_t i = rank; i-- > 0;) {
      place += static_cast<std::size_t>(rest % tensor.shape()[i] * strides[i]);
      rest /= tensor.shape()[i];
    }
    std::copy_n(
        tensor.bytes().begin() + static_cast<std::ptrdiff_t>((to_order ? k : place) * width), width,
        result.mutable_bytes().begin() +
            static_cast<std::ptrdiff_t>((to_order ? place : k) * width));
  }
  return result;
}

// A tensor of the case's element type, which NumPy may not have.
Tensor typed(const Case& values, const std::string& name) {
  const Tensor& tensor = values.at(name);
  const DType type = kTypes[static_cast<std::size_t>(integers(values.at("type"))[0])];
  return Tensor::copy_of(type, tensor.shape(), tensor.bytes()).value();
}

std::vector<std::optional<Tensor>> indices(const Case& values) {
  std::vector<std::optional<Tensor>> result;
  for (const auto& [name, tensor] : values) {
    if (name.starts_with("index_")) {
      result.resize(std::stoul(name.substr(6)) + 1);
      result.back() = tensor;
    }
  }
  return result;
}

// Runs every case of an operator; `arguments` adds what follows self.
template <typename AddArguments>
void compare_with_pytorch(const std::string& op, const AddArguments& arguments) {
  const auto cases = cases_of(op);
  ASSERT_GE(cases.size(), 50U);
  std::size_t refused = 0;
  for (const auto& [number, values] : cases) {
    SCOPED_TRACE(testing::Message() << op << " case " << number);
    const Order order = integers(values.at("self_order"));
    const Order source_order = integers(values.at("src_order"));
    const Tensor before = typed(values, "self");
    const Tensor self = moved(before, order, true);
    const Tensor source = moved(typed(values, "src"), source_order, true);
    KernelCall call("polystate::" + op);
    call.tensor(self, order);
    arguments(call, values, source, source_order);
    const bool accepted = call.run() == EtError::Ok;
    EXPECT_EQ(accepted, values.contains("expected"));
    const Tensor expected = accepted ? typed(values, "expected") : before;
    EXPECT_TRUE(std::ranges::equal(moved(self, order, false).bytes(), expected.bytes()));
    refused += accepted ? 0 : 1;
  }
  EXPECT_GT(refused, 0U) << "refusals are cases too";
  EXPECT_LT(refused, cases.size() / 2);
}

TEST(SliceScatter, DoesWhatPyTorchDoes) {
  compare_with_pytorch("slice_scatter_", [](KernelCall& call, const Case& values,
                                            const Tensor& source, const Order& order) {
    call.tensor(source, order);
    for (const std::int64_t number : integers(values.at("numbers"))) {
      call.integer(number);
    }
  });
}

TEST(SelectScatter, DoesWhatPyTorchDoes) {
  compare_with_pytorch("select_scatter_", [](KernelCall& call, const Case& values,
                                             const Tensor& source, const Order& order) {
    call.tensor(source, order);
    for (const std::int64_t number : integers(values.at("numbers"))) {
      call.integer(number);
    }
  });
}

TEST(IndexCopy, DoesWhatPyTorchDoes) {
  compare_with_pytorch("index_copy_", [](KernelCall& call, const Case& values, const Tensor& source,
                                         const Order& order) {
    call.integer(integers(values.at("numbers"))[0])
        .tensor(values.at("index_0"))
        .tensor(source, order);
  });
}

TEST(IndexPut, DoesWhatPyTorchDoes) {
  compare_with_pytorch("index_put_", [](KernelCall& call, const Case& values, const Tensor& source,
                                        const Order& order) {
    call.tensors(indices(values))
        .tensor(source, order)
        .boolean(integers(values.at("numbers"))[0] != 0);
  });
}

TEST(InPlaceOperators, RefuseASourceOfAnotherType) {
  const Tensor self = Tensor::of<float>({2, 2}, {1, 2, 3, 4}).value();
  const Tensor row = Tensor::of<std::int32_t>({2}, {8, 9}).value();
  EXPECT_EQ(
      KernelCall("polystate::select_scatter_").tensor(self).tensor(row).integer(0).integer(0).run(),
      EtError::InvalidArgument);
  EXPECT_EQ(self.values<float>()[0], 1);
}

TEST(IndexPut, ChecksEveryIndexBeforeItWrites) {
  const Tensor self = Tensor::of<float>({3}, {1, 2, 3}).value();
  const Tensor rows = Tensor::of<std::int64_t>({3}, {0, 1, 3}).value();
  const Tensor values = Tensor::of<float>({3}, {7, 8, 9}).value();
  EXPECT_EQ(KernelCall("polystate::index_put_")
                .tensor(self)
                .tensors({rows})
                .tensor(values)
                .boolean(false)
                .run(),
            EtError::InvalidArgument);
  EXPECT_EQ(self.values<float>()[0], 1);
}

TEST(IndexPut, WritesOnePositionOfABatchOfOne) {
  // cache[:, :, position] = x, which ExecuTorch's own operator refuses.
  const Tensor cache = Tensor::of<float>({1, 2, 3}, {0, 0, 0, 0, 0, 0}).value();
  const Tensor position = Tensor::of<std::int64_t>({1}, {1}).value();
  const Tensor x = Tensor::of<float>({1, 2, 1}, {5, 6}).value();
  EXPECT_EQ(KernelCall("polystate::index_put_")
                .tensor(cache)
                .tensors({std::nullopt, std::nullopt, position})
                .tensor(x)
                .boolean(false)
                .run(),
            EtError::Ok);
  EXPECT_EQ(cache.values<float>()[1], 5);
  EXPECT_EQ(cache.values<float>()[4], 6);
}

}  // namespace
}  // namespace polystate
