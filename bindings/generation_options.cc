#include "generation_options.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "raise.h"
#include "tokenizer.h"

namespace polystate::python {

namespace py = pybind11;

PythonOptions::PythonOptions(Settings settings, const py::list& processing,
                             const py::object& sampling, py::object on_piece,
                             py::object on_progress)
    : settings_(std::move(settings)),
      on_piece_(std::move(on_piece)),
      on_progress_(std::move(on_progress)) {
  for (const py::handle each : processing) {
    const auto [function, start] = each.cast<std::pair<py::function, py::object>>();
    processors_.push_back(std::make_shared<PythonProcessor>(function, start, raised_));
  }
  if (!sampling.is_none()) {
    sampler_ =
        std::make_shared<PythonSampler>(py::reinterpret_borrow<py::function>(sampling), raised_);
  }
}

void PythonOptions::fill(CallOptions& options, GenerationConfig config) const {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : settings_) unwrap(config.set(name, value, &warnings));
  // It finds the line that called the package, however many of its functions are between.
  if (!warnings.empty()) py::module_::import("polystate.runtime.generation").attr("warn")(warnings);
  options.config = std::move(config);
  options.processors = processors_;
  options.sampler = sampler_;
  options.stopping_criteria = criteria_;
  options.keep = keep;
  if (!on_progress_.is_none()) {
    options.on_progress = [this](std::size_t done) { tell_progress(done); };
  }
  options.is_cancelled = [this, caller = std::this_thread::get_id()] {
    return is_interrupted(caller);
  };
}

void PythonOptions::check() const {
  GenerationConfig config;
  for (const auto& [name, value] : settings_) unwrap(config.set(name, value));
}

void PythonOptions::end_by(const py::list& criteria) {
  for (const py::handle each : criteria) {
    criteria_.push_back(std::make_shared<PythonCriterion>(each.cast<py::function>(), raised_));
  }
}

void PythonOptions::take_stop_strings(CallOptions& options) const {
  if (!options.config || options.config->stop_strings.empty()) return;
  const auto tokenizer = find_tokenizer().cast<TokenizerBinding>().tokenizer;
  unwrap(polystate::take_stop_strings(tokenizer, *options.config, options.stopping_criteria));
}

void PythonOptions::tell_progress(std::size_t done) const {
  const py::gil_scoped_acquire gil;
  try {
    on_progress_(done);
  } catch (const std::exception&) {
    (void)raised_->keep();
    interrupted_ = true;
  }
}

bool PythonOptions::is_interrupted(std::thread::id caller) const {
  constexpr auto kMoment = std::chrono::milliseconds(10);
  if (interrupted_ || std::this_thread::get_id() != caller) return interrupted_;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kMoment) return false;
  asked_ = now;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  try {
    throw py::error_already_set();
  } catch (const std::exception&) {
    (void)raised_->keep();
  }
  interrupted_ = true;
  return true;
}

void bind_generation_options(const py::module_& module) {
  py::class_<PythonOptions>(module, "GenerationOptions")
      .def(py::init<Settings, const py::list&, const py::object&, py::object, py::object>())
      .def("check", &PythonOptions::check)
      .def("end_by", &PythonOptions::end_by)
      .def_readwrite("find_tokenizer", &PythonOptions::find_tokenizer)
      .def_readwrite("kept", &PythonOptions::kept)
      .def_readwrite("keep", &PythonOptions::keep)
      .def("cancel", &PythonOptions::cancel);
}

}  // namespace polystate::python
