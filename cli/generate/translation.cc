#include "cli/generate/translation.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "cli/text.h"
#include "cli/warnings.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

// A text in one line.
std::string in_a_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string json_answer(const std::vector<GeneratedText>& texts) {
  Json translations = Json::array();
  for (const GeneratedText& text : texts) {
    Json translation = {{"text", text.text}};
    if (text.score) translation["score"] = *text.score;
    translations.push_back(std::move(translation));
  }
  return Json({{"translations", std::move(translations)}}).dump() + "\n";
}

std::string text_answer(const std::vector<GeneratedText>& texts, bool scores) {
  std::string lines;
  for (const GeneratedText& text : texts) {
    if (scores && text.score) lines += number_text(*text.score) + "\t";
    lines += in_a_line(text.text) + "\n";
  }
  return lines;
}

}  // namespace

Translation::Translation(Pipeline& pipeline, const TranslateArguments& arguments, Output& output)
    : pipeline_(&pipeline),
      arguments_(&arguments),
      output_(&output),
      progress_("translated", "lines") {}

Status Translation::configure() {
  GenerationConfig config = pipeline_->default_config();
  if (arguments_->stream) config.num_beams = config.num_return_sequences = 1;
  std::vector<std::string> warnings;
  for (const auto& [name, value] : arguments_->settings) {
    if (Status set = config.set(name, value, &warnings); !set) return set;
  }
  print_warnings(warnings);
  if (arguments_->scores && config.num_beams == 1) {
    return Error{ErrorCode::kContract,
                 "--scores are of a beam search, and there is one beam: --beam 4"};
  }
  options_.config = std::move(config);
  options_.truncate = arguments_->truncate;
  options_.name_of = [this](std::size_t input) {
    return (arguments_->texts.empty() ? "line " : "text ") + std::to_string(numbers_[input]);
  };
  return {};
}

Status Translation::translate(std::span<const std::string> lines) {
  return arguments_->stream ? stream(lines) : translate_group(lines);
}

Status Translation::translate_group(std::span<const std::string> lines) {
  std::vector<std::string> texts;
  numbers_.clear();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    texts.push_back(lines[i]);
    numbers_.push_back(done_ + i + 1);
  }
  options_.on_progress = [this](std::size_t done) { progress_.show(done_ + done); };
  const auto answers = pipeline_->run(texts, options_);
  if (!answers) return answers.error();
  const std::vector<GeneratedText> blank(1);
  std::string written;
  for (std::size_t i = 0, next = 0; i < lines.size(); ++i)
    written += answer(is_blank(lines[i]) ? blank : (*answers)[next++]);
  progress_.wipe();
  output_->write(written);
  done_ += lines.size();
  return {};
}

Status Translation::stream(std::span<const std::string> lines) {
  options_.on_text = [this](std::size_t, std::string_view piece) {
    output_->write(in_a_line(std::string(piece)));
    return !output_->is_closed();
  };
  for (const std::string& line : lines) {
    numbers_ = {++done_};
    if (!is_blank(line)) {
      if (const auto answer = pipeline_->run(std::span(&line, 1), options_); !answer)
        return answer.error();
    }
    output_->write("\n");
  }
  return {};
}

std::string Translation::answer(const std::vector<GeneratedText>& texts) const {
  return arguments_->model.artifact.json ? json_answer(texts)
                                         : text_answer(texts, arguments_->scores);
}

}  // namespace polystate::cli
