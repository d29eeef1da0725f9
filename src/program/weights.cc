#include "program/weights.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "program/data_flow.h"
#include "program/program.h"

namespace polystate::program {

namespace {

// Adds what a constant of a method says of its weight.
void add(const Program& program, std::size_t method, const Tensor& tensor, Weight& weight) {
  if (weight.type.empty()) weight.type = type_text(tensor);
  if (weight.name.empty()) weight.name = tensor.name;
  if (tensor.data < program.constants.size()) {
    const std::span<const std::byte> rest = program.constants[tensor.data];
    weight.bytes = rest.first(std::min<std::uint64_t>(rest.size(), tensor.bytes));
  }
  if (weight.methods.empty() || weight.methods.back() != method) weight.methods.push_back(method);
}

}  // namespace

std::vector<Weight> weights_of(const Program& program) {
  std::map<std::uint32_t, Weight> by_data;
  for (std::size_t m = 0; m < program.methods.size(); ++m) {
    const Method& method = program.methods[m];
    for (std::size_t value = 0; value < method.values.size(); ++value) {
      const Tensor* const tensor = tensor_of(method, value);
      if (tensor != nullptr && is_constant(*tensor)) {
        add(program, m, *tensor, by_data[tensor->data]);
      }
    }
  }
  std::vector<Weight> weights;
  weights.reserve(by_data.size() + program.named_data.size());
  for (auto& [data, weight] : by_data) weights.push_back(std::move(weight));
  for (const NamedData& named : program.named_data)
    weights.push_back({.name = named.name, .bytes = named.bytes});
  return weights;
}

}  // namespace polystate::program
