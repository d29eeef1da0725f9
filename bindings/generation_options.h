#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"
#include "raise.h"

namespace polystate::python {

// Fields of GenerationConfig by name, each as JSON.
using Settings = std::vector<std::pair<std::string, std::string>>;

// What `_core.KeptSequence` is. pybind11 holds no pointers to const.
struct KeptBinding {
  KeptSequence kept;
};

// How a caller wants a generation: fields of the configuration, and functions of the caller's own.
class PythonOptions {
 public:
  // `processing` has pairs of a function and what starts its state, or None. `sampling`, `on_piece`
  // and `on_progress` may be None.
  PythonOptions(Settings settings, const pybind11::list& processing,
                const pybind11::object& sampling, pybind11::object on_piece,
                pybind11::object on_progress);

  // Refuses names that no field has, and values that theirs may not have.
  void check() const;

  // Fills options of a call, from a configuration to start from.
  void fill(CallOptions& options, GenerationConfig config) const;

  // What the caller wants to be told with each token or piece of text; empty where it does not.
  template <typename Piece>
  [[nodiscard]] std::function<bool(std::size_t, Piece)> on_piece() const {
    if (on_piece_.is_none()) return nullptr;
    return [this](std::size_t input, Piece piece) { return call(input, piece); };
  }

  // Ends sequences by what functions of the caller's say.
  void end_by(const pybind11::list& criteria);

  // Makes the configuration's stop strings a criterion, with what `find_tokenizer` gives.
  void take_stop_strings(CallOptions& options) const;

  // Ends the generation, by any thread.
  void cancel() { interrupted_ = true; }

  pybind11::object find_tokenizer = pybind11::none();  // of Runner.generate
  bool keep = false;                                   // CallOptions::keep
  std::vector<std::optional<KeptBinding>> kept;  // GenerationInput::kept of each input, or none

  // The result of the generation, or the exception that a function of the caller's raised.
  template <typename T>
  T finished(Result<T> result) const {
    raised_->rethrow();
    return unwrap(std::move(result));
  }

 private:
  // False after the function raised, and where it returns False.
  template <typename Piece>
  bool call(std::size_t input, Piece piece) const {
    const pybind11::gil_scoped_acquire gil;
    try {
      return !on_piece_(input, piece).is(pybind11::bool_(false));
    } catch (const std::exception&) {
      (void)raised_->keep();
      return false;
    }
  }

  void tell_progress(std::size_t done) const;
  // Whether a function of the caller's raised an exception that nothing else waits for, or a signal
  // (Ctrl-C) did. Python gives signals to one thread alone, and the GIL may be long in coming: the
  // thread that called asks, and not again within a moment.
  bool is_interrupted(std::thread::id caller) const;

  Settings settings_;
  mutable std::atomic<bool> interrupted_ = false;
  mutable std::chrono::steady_clock::time_point asked_;  // by the caller's thread
  std::shared_ptr<Raised> raised_ = std::make_shared<Raised>();
  LogitsProcessors processors_;
  std::shared_ptr<const Sampler> sampler_;
  StoppingCriteria criteria_;
  pybind11::object on_piece_;
  pybind11::object on_progress_;
};

// Adds GenerationOptions to the module.
void bind_generation_options(const pybind11::module_& module);

}  // namespace polystate::python
