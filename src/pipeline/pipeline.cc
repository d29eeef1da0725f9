#include "polystate/pipeline/pipeline.h"

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pipeline/text_pipeline.h"
#include "polystate/artifact/manifest.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/artifact_text.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/session/model.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// A text among the constants of a manifest; empty where there is none.
std::string constant(const Manifest& manifest, const std::string& name) {
  const auto found = manifest.constants.find(name);
  if (found == manifest.constants.end()) return {};
  const std::string* const text = std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::open(const std::filesystem::path& directory,
                                                 const ModelOptions& options) {
  const Result<Model> model = Model::open(directory, options);
  if (!model) return model.error();
  return create(*model);
}

Result<std::unique_ptr<Pipeline>> Pipeline::create(const Model& model) {
  Result<std::unique_ptr<Runner>> runner = open_runner(model);
  if (!runner) return runner.error();
  Result<std::shared_ptr<const Tokenizer>> tokenizer = tokenizer_of(model.artifact());
  if (!tokenizer) return tokenizer.error();
  Result<ChatTemplates> templates = chat_templates_of(model.artifact());
  if (!templates) return templates.error();
  return std::unique_ptr<Pipeline>(std::make_unique<TextPipeline>(
      constant(model.manifest(), "task"), std::move(*tokenizer), std::move(*runner),
      std::move(*templates), model.artifact().digest()));
}

Result<std::vector<std::vector<GeneratedText>>> Pipeline::run(
    std::initializer_list<std::string> texts, const PipelineOptions& options) {
  return run(std::span(texts.begin(), texts.size()), options);
}

Result<std::string> Pipeline::run(std::string_view text) {
  const std::string texts[] = {std::string(text)};
  Result<std::vector<std::vector<GeneratedText>>> answers = run(std::span(texts));
  if (!answers) return answers.error();
  return std::move(answers->front().front().text);
}

}  // namespace polystate
