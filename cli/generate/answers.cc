#include "cli/generate/answers.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/generate/lines.h"
#include "cli/generate/response_formats.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/warnings.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

bool is_of_one_sequence(const GenerationConfig& config) {
  return config.num_beams == 1 && config.num_return_sequences == 1;
}

}  // namespace

Answers::Answers(Pipeline& pipeline, const AnswerArguments& arguments, const AnswerForm& form,
                 Output& output)
    : pipeline_(&pipeline),
      arguments_(&arguments),
      form_(form),
      output_(&output),
      progress_(form.verb, form.is_line ? "lines" : "texts") {}

Status Answers::run() {
  if (Status configured = configure(); !configured) return configured;
  if (!arguments_->texts.empty()) return answer(arguments_->texts);
  if (!arguments_->whole) {
    return for_each_group_of_lines(arguments_->file, *output_,
                                   [this](auto lines) { return answer(lines); });
  }
  const Result<std::string> text = whole_text(arguments_->file);
  if (!text) return text.error();
  return answer(std::span(&*text, 1));
}

Status Answers::configure() {
  GenerationConfig config = pipeline_->default_config();
  if (arguments_->stream.value_or(false)) config.num_beams = config.num_return_sequences = 1;
  std::vector<std::string> warnings;
  for (const auto& [name, value] : arguments_->settings) {
    if (Status set = config.set(name, value, &warnings); !set) return set;
  }
  print_warnings(warnings);
  if (arguments_->scores && config.num_beams == 1) {
    return Error{ErrorCode::kContract,
                 "--scores are of a beam search, and there is one beam: --beam 4"};
  }
  const bool may_stream = form_.streams_on_terminal && !arguments_->model.artifact.json &&
                          is_of_one_sequence(config) && output_->is_terminal();
  streams_ = arguments_->stream.value_or(may_stream);
  options_.config = std::move(config);
  options_.truncate = arguments_->truncate;
  auto format = response_format(arguments_->response_format);
  if (!format) return format.error();
  options_.response_format = *std::move(format);
  const bool are_lines = arguments_->texts.empty() && !arguments_->whole;
  options_.name_of = [this, are_lines](std::size_t input) {
    return (are_lines ? "line " : "text ") + std::to_string(numbers_[input]);
  };
  return {};
}

Status Answers::answer(std::span<const std::string> texts) {
  return streams_ ? stream(texts) : answer_group(texts);
}

Status Answers::answer_group(std::span<const std::string> texts) {
  std::vector<std::string> given;
  numbers_.clear();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_left_out(texts[i])) continue;
    given.push_back(texts[i]);
    numbers_.push_back(done_ + i + 1);
  }
  options_.on_progress = [this](std::size_t done) { progress_.show(done_ + done); };
  const auto answers = pipeline_->run(given, options_);
  if (!answers) return answers.error();
  const std::vector<GeneratedText> blank(1);
  std::string lines;
  for (std::size_t i = 0, next = 0; i < texts.size(); ++i)
    lines += written(texts[i], is_left_out(texts[i]) ? blank : (*answers)[next++]);
  progress_.wipe();
  output_->write(lines);
  done_ += texts.size();
  return {};
}

Status Answers::stream(std::span<const std::string> texts) {
  options_.on_text = [this](std::size_t, std::string_view piece) {
    output_->write(shown(std::string(piece)));
    return !output_->is_closed();
  };
  for (const std::string& text : texts) {
    numbers_ = {++done_};
    if (!is_left_out(text)) {
      if (arguments_->echo) output_->write(shown(text));
      if (const auto answers = pipeline_->run(std::span(&text, 1), options_); !answers)
        return answers.error();
    }
    output_->write("\n");
  }
  return {};
}

bool Answers::is_left_out(const std::string& text) const { return form_.is_line && is_blank(text); }

std::string Answers::shown(std::string text) const {
  if (form_.is_line) std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string Answers::written(const std::string& text,
                             const std::vector<GeneratedText>& answers) const {
  if (arguments_->model.artifact.json) return json(answers);
  std::string lines;
  for (const GeneratedText& each : answers) {
    if (arguments_->scores && each.score) lines += number_text(*each.score) + "\t";
    if (arguments_->echo) lines += shown(text);
    lines += shown(each.text) + "\n";
  }
  return lines;
}

std::string Answers::json(const std::vector<GeneratedText>& answers) const {
  Json list = Json::array();
  for (const GeneratedText& each : answers) {
    Json answer = {{"text", each.text}};
    if (each.score) answer["score"] = *each.score;
    answer["finish_reason"] = name_of(each.finish_reason);
    list.push_back(std::move(answer));
  }
  return Json({{form_.list, std::move(list)}}).dump() + "\n";
}

}  // namespace polystate::cli
