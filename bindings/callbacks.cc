#include "callbacks.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

py::list list_of(std::span<const TokenId> tokens) {
  py::list list;
  for (const TokenId token : tokens) list.append(token);
  return list;
}

// A row's tokens as a list of Python's, so that no step copies them, and the state of the caller's.
class PythonRow : public RowState {
 public:
  // Where the GIL is held.
  PythonRow(py::list tokens, py::object state, std::shared_ptr<Raised> raised)
      : tokens_(std::move(tokens)), state_(std::move(state)), raised_(std::move(raised)) {}

  Status advance(TokenId token) override {
    return within_python([&] {
      tokens_->append(token);
      if (!state_->is_none()) state_->attr("advance")(token);
    });
  }

  [[nodiscard]] Result<std::unique_ptr<RowState>> fork() const override {
    std::unique_ptr<RowState> forked;
    const Status done = within_python([&] {
      py::object state = state_->is_none() ? *state_ : py::object(state_->attr("fork")());
      forked =
          std::make_unique<PythonRow>(py::list(tokens_->attr("copy")()), std::move(state), raised_);
    });
    if (!done) return done.error();
    return forked;
  }

  Status rewind(std::size_t count) override {
    return within_python([&] {
      if (!state_->is_none()) state_->attr("rewind")(count);
      const std::size_t left = tokens_->size() - count;
      tokens_->attr("__delitem__")(py::slice(static_cast<py::ssize_t>(left), std::nullopt, 1));
    });
  }

  [[nodiscard]] const py::list& tokens() const { return *tokens_; }
  [[nodiscard]] const py::object& state() const { return *state_; }

 private:
  // Calls `work` with the GIL held. Exceptions are kept.
  template <typename Work>
  Status within_python(const Work& work) const {
    const py::gil_scoped_acquire gil;
    try {
      work();
    } catch (const std::exception&) {
      return raised_->keep();
    }
    return {};
  }

  Held<py::list> tokens_;
  Held<py::object> state_;
  std::shared_ptr<Raised> raised_;
};

}  // namespace

Error Raised::keep() {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::current_exception();
  return {ErrorCode::kContract, "a function of the caller's raised an exception"};
}

void Raised::rethrow() const {
  if (first_) std::rethrow_exception(first_);
}

PythonProcessor::PythonProcessor(py::function function, py::object start,
                                 std::shared_ptr<Raised> raised)
    : function_(std::move(function)), start_(std::move(start)), raised_(std::move(raised)) {}

Result<std::unique_ptr<RowState>> PythonProcessor::start(const TokenContext& context) const {
  const py::gil_scoped_acquire gil;
  try {
    py::list tokens = list_of(context.tokens);
    py::object state = start_->is_none() ? py::object(py::none()) : py::object((*start_)(tokens));
    return std::unique_ptr<RowState>(
        std::make_unique<PythonRow>(std::move(tokens), std::move(state), raised_));
  } catch (const std::exception&) {
    return raised_->keep();
  }
}

Status PythonProcessor::process(const TokenContext& context, std::span<float> scores) const {
  const py::gil_scoped_acquire gil;
  const auto& row = static_cast<const PythonRow&>(*context.state);
  try {
    (*function_)(row.tokens(), row.state(), buffer_of(scores));
  } catch (const std::exception&) {
    return raised_->keep();
  }
  return {};
}

PythonCriterion::PythonCriterion(py::function function, std::shared_ptr<Raised> raised)
    : function_(std::move(function)), raised_(std::move(raised)) {}

Result<bool> PythonCriterion::is_met(const TokenContext& context) const {
  const py::gil_scoped_acquire gil;
  try {
    return (*function_)(list_of(context.tokens)).cast<bool>();
  } catch (const std::exception&) {
    return raised_->keep();
  }
}

PythonSampler::PythonSampler(py::function function, std::shared_ptr<Raised> raised)
    : function_(std::move(function)), raised_(std::move(raised)) {}

Result<TokenId> PythonSampler::sample(std::span<float> scores, const SamplePlace& place) const {
  const py::gil_scoped_acquire gil;
  try {
    const auto id = (*function_)(buffer_of(scores), place.seed, place.sequence, place.step)
                        .cast<std::uint64_t>();
    if (id < scores.size()) return static_cast<TokenId>(id);
    return Error{ErrorCode::kContract, "the sampler chose the token " + std::to_string(id) +
                                           ", and the vocabulary has " +
                                           std::to_string(scores.size())};
  } catch (const std::exception&) {
    return raised_->keep();
  }
}

}  // namespace polystate::python
