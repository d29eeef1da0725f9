#include "cli/run/run_report.h"

#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/element.h"
#include "cli/run/tensor_text.h"
#include "cli/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string heading(const NamedTensor& named, std::string_view remark) {
  return printable(named.name) + std::string(remark) + ": " +
         std::string(name_of(named.tensor.dtype())) + " " + to_string(named.tensor.shape()) + "\n";
}

// JSON has no NaN and no infinities: they become "nan", "inf" and "-inf". A finite number is the
// shortest that reads back in the tensor's own precision.
Json number_json(const Tensor& tensor, double number) {
  std::string text = real_text(tensor, number);
  if (!std::isfinite(number)) return text;
  double value = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Of a complex number both parts: [1.0, -0.5].
Json element_json(const Tensor& tensor, std::size_t index) {
  const Element element = element_at(tensor, index);
  if (const bool* truth = std::get_if<bool>(&element)) return *truth;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&element)) return *integer;
  if (const double* number = std::get_if<double>(&element)) return number_json(tensor, *number);
  const auto value = std::get<std::complex<double>>(element);
  return Json::array({number_json(tensor, value.real()), number_json(tensor, value.imag())});
}

// The elements from dimension `dimension` on, nested; `offset` counts parts of that size.
Json values_json(const Tensor& tensor, std::size_t dimension, std::size_t offset) {
  if (dimension == tensor.shape().size()) return element_json(tensor, offset);
  Json values = Json::array();
  // A tensor of no elements may have a huge size beside the 0: the list ends where there is nothing
  // to list.
  if (tensor.element_count() == 0) return values;
  const auto size = static_cast<std::size_t>(tensor.shape()[dimension]);
  for (std::size_t i = 0; i < size; ++i) {
    values.push_back(values_json(tensor, dimension + 1, offset * size + i));
  }
  return values;
}

Json tensors_json(const std::vector<NamedTensor>& tensors) {
  Json list = Json::array();
  for (const auto& [name, tensor] : tensors) {
    list.push_back({{"name", name},
                    {"dtype", name_of(tensor.dtype())},
                    {"shape", tensor.shape()},
                    {"values", values_json(tensor, 0, 0)}});
  }
  return list;
}

}  // namespace

std::string results_text(const std::vector<CallResult>& results) {
  std::string text;
  for (const CallResult& result : results) {
    if (results.size() > 1) {
      const bool is_empty = result.outputs.empty() && result.written.empty();
      text += printable(result.method) + (is_empty ? " returned nothing\n" : "\n");
    }
    for (const NamedTensor& output : result.outputs) {
      text += heading(output, "") + tensor_text(output.tensor);
    }
    for (const NamedTensor& input : result.written) {
      text += heading(input, " (input, written)") + tensor_text(input.tensor);
    }
  }
  return text;
}

std::string results_json(const std::vector<CallResult>& results) {
  Json calls = Json::array();
  for (const CallResult& result : results) {
    calls.push_back({{"method", result.method},
                     {"outputs", tensors_json(result.outputs)},
                     {"written", tensors_json(result.written)}});
  }
  const Json report = {{"calls", std::move(calls)}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::map<std::string, Tensor> results_entries(const std::vector<CallResult>& results) {
  std::map<std::string, Tensor> entries;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string prefix = results.size() > 1 ? call_name(i) + "/" : "";
    for (const auto& [name, tensor] : results[i].outputs) entries.emplace(prefix + name, tensor);
    for (const auto& [name, tensor] : results[i].written) {
      std::string entry = prefix + name;
      while (entries.contains(entry)) entry.insert(prefix.size(), "input_");
      entries.emplace(std::move(entry), tensor);
    }
  }
  return entries;
}

}  // namespace polystate::cli
