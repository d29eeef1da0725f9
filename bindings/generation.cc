#include "generation.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "callbacks.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/session/model.h"
#include "process.h"
#include "raise.h"
#include "tokenizer.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

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
  PythonOptions(Settings settings, const py::list& processing, const py::object& sampling,
                py::object on_piece, py::object on_progress)
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

  // Fills options of a call, from a configuration to start from.
  void fill(CallOptions& options, GenerationConfig config) const {
    std::vector<std::string> warnings;
    for (const auto& [name, value] : settings_) unwrap(config.set(name, value, &warnings));
    constexpr int kCallersCaller = 3;  // who called `generate`, which called what called this
    for (const std::string& warning : warnings) {
      if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), kCallersCaller) != 0)
        throw py::error_already_set();
    }
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

  // What the caller wants to be told with each token or piece of text; empty where it does not.
  template <typename Piece>
  [[nodiscard]] std::function<bool(std::size_t, Piece)> on_piece() const {
    if (on_piece_.is_none()) return nullptr;
    return [this](std::size_t input, Piece piece) { return call(input, piece); };
  }

  // Ends sequences by what functions of the caller's say.
  void end_by(const py::list& criteria) {
    for (const py::handle each : criteria) {
      criteria_.push_back(std::make_shared<PythonCriterion>(each.cast<py::function>(), raised_));
    }
  }

  // Makes the configuration's stop strings a criterion, with what `find_tokenizer` gives.
  void take_stop_strings(CallOptions& options) const {
    if (!options.config || options.config->stop_strings.empty()) return;
    const auto tokenizer = find_tokenizer().cast<TokenizerBinding>().tokenizer;
    unwrap(polystate::take_stop_strings(tokenizer, *options.config, options.stopping_criteria));
  }

  // Ends the generation, by any thread.
  void cancel() { interrupted_ = true; }

  py::object find_tokenizer = py::none();        // of Runner.generate
  bool keep = false;                             // CallOptions::keep
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
    const py::gil_scoped_acquire gil;
    try {
      return !on_piece_(input, piece).is(py::bool_(false));
    } catch (const std::exception&) {
      (void)raised_->keep();
      return false;
    }
  }

  void tell_progress(std::size_t done) const {
    const py::gil_scoped_acquire gil;
    try {
      on_progress_(done);
    } catch (const std::exception&) {
      (void)raised_->keep();
      interrupted_ = true;
    }
  }

  // Whether a function of the caller's raised an exception that nothing else waits for, or a signal
  // (Ctrl-C) did. Python gives signals to one thread alone, and the GIL may be long in coming: the
  // thread that called asks, and not again within a moment.
  bool is_interrupted(std::thread::id caller) const {
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

  Settings settings_;
  mutable std::atomic<bool> interrupted_ = false;
  mutable std::chrono::steady_clock::time_point asked_;  // by the caller's thread
  std::shared_ptr<Raised> raised_ = std::make_shared<Raised>();
  LogitsProcessors processors_;
  std::shared_ptr<const Sampler> sampler_;
  StoppingCriteria criteria_;
  py::object on_piece_;
  py::object on_progress_;
};

std::unique_ptr<Runner> new_runner(const Model& model) {
  check_process();
  return unwrap(without_gil([&] { return open_runner(model); }));
}

std::vector<GenerationResult> generate(Runner& runner,
                                       const std::vector<std::vector<TokenId>>& sources,
                                       const std::vector<std::vector<TokenId>>& prompts,
                                       const PythonOptions& python) {
  check_process();
  GenerationOptions options;
  python.fill(options, runner.default_config());
  python.take_stop_strings(options);
  options.on_token = python.on_piece<TokenId>();
  std::vector<GenerationInput> inputs(sources.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].source = sources[i];
    if (i < prompts.size()) inputs[i].prompt = prompts[i];
    if (i >= python.kept.size()) continue;
    if (const auto& kept = python.kept[i]) inputs[i].kept = kept->kept;
  }
  return python.finished(without_gil([&] { return runner.generate(inputs, options); }));
}

// (token, log-probability).
using Logprob = std::pair<TokenId, double>;
// The token that is there, and the most probable ones.
using Logprobs = std::pair<Logprob, std::vector<Logprob>>;

std::vector<Logprobs> to_python(const std::vector<TokenLogprobs>& all) {
  std::vector<Logprobs> given;
  given.reserve(all.size());
  for (const TokenLogprobs& each : all) {
    Logprobs& next =
        given.emplace_back(Logprob(each.chosen.token, each.chosen.logprob), std::vector<Logprob>());
    for (const TokenLogprob& top : each.top) next.second.emplace_back(top.token, top.logprob);
  }
  return given;
}

// An array over a member of what `self` is, which it keeps alive.
py::array scores_of(const py::object& self, const std::vector<float> GeneratedSequence::* member) {
  const std::vector<float>& scores = self.cast<const GeneratedSequence&>().*member;
  return py::array_t<float>(static_cast<py::ssize_t>(scores.size()), scores.data(), self);
}

std::unique_ptr<Pipeline> new_pipeline(const Model& model) {
  check_process();
  return unwrap(without_gil([&] { return Pipeline::create(model); }));
}

// The members of PipelineOptions that are about texts.
struct TextForm {
  bool truncate;
  bool add_special_tokens;
  bool skip_special_tokens;
  std::optional<ResponseFormat> response_format;
};

std::vector<std::vector<GeneratedText>> run(Pipeline& pipeline,
                                            const std::vector<std::string>& texts,
                                            const TextForm& form, const PythonOptions& python) {
  check_process();
  PipelineOptions options;
  python.fill(options, pipeline.default_config());
  options.truncate = form.truncate;
  options.add_special_tokens = form.add_special_tokens;
  options.skip_special_tokens = form.skip_special_tokens;
  options.response_format = form.response_format;
  options.on_text = python.on_piece<std::string_view>();
  return python.finished(without_gil([&] { return pipeline.run(texts, options); }));
}

std::vector<TextScore> score(Pipeline& pipeline, const std::vector<std::string>& texts,
                             std::optional<std::int64_t> stride, bool add_special_tokens,
                             const PythonOptions& python) {
  check_process();
  CallOptions call;
  python.fill(call, pipeline.default_config());
  const ScoreOptions options = {.stride = stride,
                                .add_special_tokens = add_special_tokens,
                                .on_progress = std::move(call.on_progress),
                                .is_cancelled = std::move(call.is_cancelled)};
  return python.finished(without_gil([&] { return pipeline.score(texts, options); }));
}

void bind_results(const py::module_& module) {
  py::class_<KeptBinding>(module, "KeptSequence")
      .def_property_readonly("tokens", [](const KeptBinding& self) { return self.kept->tokens; });
  py::class_<GeneratedSequence>(module, "GeneratedSequence")
      .def_readonly("ids", &GeneratedSequence::ids)
      .def_readonly("score", &GeneratedSequence::score)
      .def_property_readonly(
          "finish_reason",
          [](const GeneratedSequence& self) { return std::string(name_of(self.finish_reason)); })
      .def_property_readonly("kept",
                             [](const GeneratedSequence& self) {
                               return self.kept == nullptr ? std::optional<KeptBinding>()
                                                           : std::optional(KeptBinding{self.kept});
                             })
      .def_property_readonly("logprobs",
                             [](const GeneratedSequence& self) { return to_python(self.logprobs); })
      .def_property_readonly(
          "scores",
          [](const py::object& self) { return scores_of(self, &GeneratedSequence::scores); })
      .def_property_readonly("logits", [](const py::object& self) {
        return scores_of(self, &GeneratedSequence::logits);
      });
  py::class_<GeneratedText>(module, "GeneratedText")
      .def_readonly("text", &GeneratedText::text)
      .def_readonly("ids", &GeneratedText::ids)
      .def_readonly("score", &GeneratedText::score);
  py::class_<TextScore>(module, "TextScore")
      .def_readonly("logprob", &TextScore::logprob)
      .def_readonly("tokens", &TextScore::tokens);
  py::class_<GenerationUsage>(module, "GenerationUsage")
      .def_readonly("prompt_tokens", &GenerationUsage::prompt_tokens)
      .def_readonly("cached_tokens", &GenerationUsage::cached_tokens)
      .def_readonly("generated_tokens", &GenerationUsage::generated_tokens)
      .def_readonly("pages", &GenerationUsage::pages);
  py::class_<GenerationResult>(module, "GenerationResult")
      .def_readonly("sequences", &GenerationResult::sequences)
      .def_readonly("usage", &GenerationResult::usage)
      .def_property_readonly("prompt_logprobs", [](const GenerationResult& self) {
        return to_python(self.prompt_logprobs);
      });
}

}  // namespace

void bind_generation(py::module_& module) {
  module.def("check_process", &check_process);
  bind_results(module);
  py::class_<PythonOptions>(module, "GenerationOptions")
      .def(py::init<Settings, const py::list&, const py::object&, py::object, py::object>())
      .def("end_by", &PythonOptions::end_by)
      .def_readwrite("find_tokenizer", &PythonOptions::find_tokenizer)
      .def_readwrite("kept", &PythonOptions::kept)
      .def_readwrite("keep", &PythonOptions::keep)
      .def("cancel", &PythonOptions::cancel);
  py::class_<Runner>(module, "Runner")
      .def(py::init(&new_runner))
      .def("generate", &generate)
      .def_property_readonly("warnings", &Runner::warnings)
      .def_property_readonly("pad_token_id",
                             [](const Runner& self) { return self.default_config().pad_token_id; })
      .def_property_readonly("eos_token_id",
                             [](const Runner& self) { return self.default_config().eos_token_id; })
      .def_property_readonly("max_length", &Runner::max_length)
      .def_property_readonly("max_source_length", &Runner::max_source_length);
  py::class_<TextForm>(module, "TextForm")
      .def(py::init([](bool truncate, bool add_special_tokens, bool skip_special_tokens,
                       const std::optional<std::string>& response_format) {
        TextForm form{truncate, add_special_tokens, skip_special_tokens, std::nullopt};
        if (response_format) form.response_format = unwrap(ResponseFormat::parse(*response_format));
        return form;
      }));
  py::class_<Pipeline>(module, "Pipeline")
      .def(py::init(&new_pipeline))
      .def("run", &run)
      .def("score", &score)
      .def_property_readonly("task", &Pipeline::task)
      .def_property_readonly("continues_texts", &Pipeline::continues_texts)
      .def_property_readonly("warnings", &Pipeline::warnings);
}

}  // namespace polystate::python
