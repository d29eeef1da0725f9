#include "generation.h"

#include <pybind11/numpy.h>
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

#include "chat_template.h"
#include "generation_options.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/session/model.h"
#include "process.h"
#include "raise.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

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

PipelineOptions options_of(const Pipeline& pipeline, const TextForm& form,
                           const PythonOptions& python) {
  PipelineOptions options;
  python.fill(options, pipeline.default_config());
  options.truncate = form.truncate;
  options.add_special_tokens = form.add_special_tokens;
  options.skip_special_tokens = form.skip_special_tokens;
  options.response_format = form.response_format;
  options.on_text = python.on_piece<std::string_view>();
  return options;
}

std::vector<std::vector<GeneratedText>> run(Pipeline& pipeline,
                                            const std::vector<std::string>& texts,
                                            const TextForm& form, const PythonOptions& python) {
  check_process();
  const PipelineOptions options = options_of(pipeline, form, python);
  return python.finished(without_gil([&] { return pipeline.run(texts, options); }));
}

// `chats`: each by the names of ChatInput, with its variables.
std::vector<std::vector<GeneratedText>> run_chats(Pipeline& pipeline, const py::list& chats,
                                                  const TextForm& form,
                                                  const PythonOptions& python) {
  check_process();
  const PipelineOptions options = options_of(pipeline, form, python);
  std::vector<ChatInput> inputs;
  for (const py::handle chat : chats) {
    const auto [names, variables] = chat.cast<std::pair<py::dict, py::dict>>();
    inputs.push_back(to_chat_input(names, variables));
  }
  return python.finished(without_gil([&] { return pipeline.run_chats(inputs, options); }));
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
      .def_readonly("score", &GeneratedText::score)
      .def_property_readonly("message", [](const GeneratedText& self) {
        return from_utf8(unwrap(self.message.to_json()));
      });
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
  module.def("parse_generation_config",
             [](const std::string& json) { (void)unwrap(GenerationConfig::parse(json)); });
  bind_results(module);
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
      .def("run_chats", &run_chats)
      .def("score", &score)
      .def_property_readonly("task", &Pipeline::task)
      .def_property_readonly("continues_texts", &Pipeline::continues_texts)
      .def_property_readonly("warnings", &Pipeline::warnings);
}

}  // namespace polystate::python
