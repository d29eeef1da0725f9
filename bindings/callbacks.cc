#include "callbacks.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

py::memoryview buffer_of(std::span<float> scores) {
  return py::memoryview::from_buffer(scores.data(), {static_cast<py::ssize_t>(scores.size())},
                                     {static_cast<py::ssize_t>(sizeof(float))});
}

std::vector<TokenId> list_of(std::span<const TokenId> tokens) {
  return {tokens.begin(), tokens.end()};
}

}  // namespace

Error Raised::keep() {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::current_exception();
  return {ErrorCode::kContract, "a function of the caller's raised an exception"};
}

void Raised::rethrow() const {
  if (first_) std::rethrow_exception(first_);
}

PythonProcessor::PythonProcessor(py::function function, std::shared_ptr<Raised> raised)
    : function_(std::move(function)), raised_(std::move(raised)) {}

Status PythonProcessor::process(const TokenContext& context, std::span<float> scores) const {
  const py::gil_scoped_acquire gil;
  try {
    function_(list_of(context.tokens), context.prompt_length, list_of(context.source),
              buffer_of(scores));
  } catch (const std::exception&) {
    return raised_->keep();
  }
  return {};
}

PythonSampler::PythonSampler(py::function function, std::shared_ptr<Raised> raised)
    : function_(std::move(function)), raised_(std::move(raised)) {}

Result<TokenId> PythonSampler::sample(std::span<float> scores, const SamplePlace& place) const {
  const py::gil_scoped_acquire gil;
  try {
    const auto id =
        function_(buffer_of(scores), place.seed, place.sequence, place.step).cast<std::uint64_t>();
    if (id < scores.size()) return static_cast<TokenId>(id);
    return Error{ErrorCode::kContract, "the sampler chose the token " + std::to_string(id) +
                                           ", and the vocabulary has " +
                                           std::to_string(scores.size())};
  } catch (const std::exception&) {
    return raised_->keep();
  }
}

}  // namespace polystate::python
