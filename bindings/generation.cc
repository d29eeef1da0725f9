#include "generation.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/session/model.h"
#include "process.h"
#include "raise.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

// Fields of GenerationConfig by name, each as JSON.
using Settings = std::vector<std::pair<std::string, std::string>>;

GenerationConfig configured(GenerationConfig config, const Settings& settings) {
  for (const auto& [name, value] : settings) unwrap(config.set(name, value));
  return config;
}

// What a caller may inject into a generation.
struct Injected {
  explicit Injected(const py::list& functions, const py::object& sampling) {
    for (const py::handle function : functions) {
      processors.push_back(std::make_shared<PythonProcessor>(
          py::reinterpret_borrow<py::function>(function), raised));
    }
    if (!sampling.is_none()) {
      sampler =
          std::make_shared<PythonSampler>(py::reinterpret_borrow<py::function>(sampling), raised);
    }
  }

  // Calls a function of the user's; false after it raised, and where it returns False.
  template <typename... Arguments>
  bool call(const py::object& function, Arguments&&... arguments) const {
    const py::gil_scoped_acquire gil;
    try {
      const py::object answer = function(std::forward<Arguments>(arguments)...);
      return !answer.is(py::bool_(false));
    } catch (const std::exception&) {
      (void)raised->keep();
      return false;
    }
  }

  std::shared_ptr<Raised> raised = std::make_shared<Raised>();
  LogitsProcessors processors;
  std::shared_ptr<const Sampler> sampler;
};

template <typename T>
T finished(const Injected& injected, Result<T> result) {
  injected.raised->rethrow();
  return unwrap(std::move(result));
}

std::unique_ptr<Runner> new_runner(const Model& model) {
  check_process();
  return unwrap(without_gil([&] { return open_runner(model); }));
}

std::vector<std::vector<GeneratedSequence>> generate(
    Runner& runner, const std::vector<std::vector<TokenId>>& sources,
    const std::vector<std::vector<TokenId>>& prompts, const Settings& settings,
    const py::list& processors, const py::object& sampler, const py::object& on_token) {
  check_process();
  const Injected injected(processors, sampler);
  GenerationOptions options{.config = configured(runner.default_config(), settings),
                            .processors = injected.processors,
                            .sampler = injected.sampler};
  if (!on_token.is_none()) {
    options.on_token = [&](std::size_t input, TokenId token) {
      return injected.call(on_token, input, token);
    };
  }
  std::vector<GenerationInput> inputs(sources.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].source = sources[i];
    if (i < prompts.size()) inputs[i].prompt = prompts[i];
  }
  return finished(injected, without_gil([&] { return runner.generate(inputs, options); }));
}

std::unique_ptr<Pipeline> new_pipeline(const Model& model) {
  check_process();
  return unwrap(without_gil([&] { return Pipeline::create(model); }));
}

std::vector<std::vector<GeneratedText>> run(Pipeline& pipeline,
                                            const std::vector<std::string>& texts,
                                            const Settings& settings, bool truncate,
                                            const py::list& processors, const py::object& sampler,
                                            const py::object& on_text) {
  check_process();
  const Injected injected(processors, sampler);
  PipelineOptions options{.config = configured(pipeline.default_config(), settings),
                          .truncate = truncate,
                          .processors = injected.processors,
                          .sampler = injected.sampler};
  if (!on_text.is_none()) {
    options.on_text = [&](std::size_t input, std::string_view piece) {
      return injected.call(on_text, input, piece);
    };
  }
  return finished(injected, without_gil([&] { return pipeline.run(texts, options); }));
}

}  // namespace

void bind_generation(py::module_& module) {
  py::class_<GeneratedSequence>(module, "GeneratedSequence")
      .def_readonly("ids", &GeneratedSequence::ids)
      .def_readonly("score", &GeneratedSequence::score);
  py::class_<GeneratedText>(module, "GeneratedText")
      .def_readonly("text", &GeneratedText::text)
      .def_readonly("ids", &GeneratedText::ids)
      .def_readonly("score", &GeneratedText::score);
  py::class_<Runner>(module, "Runner")
      .def(py::init(&new_runner))
      .def("generate", &generate)
      .def_property_readonly("warnings", &Runner::warnings)
      .def_property_readonly("max_length", &Runner::max_length)
      .def_property_readonly("max_source_length", &Runner::max_source_length);
  py::class_<Pipeline>(module, "Pipeline")
      .def(py::init(&new_pipeline))
      .def("run", &run)
      .def_property_readonly("task", &Pipeline::task)
      .def_property_readonly("warnings", &Pipeline::warnings);
}

}  // namespace polystate::python
