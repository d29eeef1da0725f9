#include "cli/generate/scores.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>  // IWYU pragma: keep (definitions of what json_fwd.hpp declares)
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/generate/lines.h"
#include "cli/output.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/text_score.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const TextScore& score) {
  return number_text(score.logprob) + "\t" + std::to_string(score.tokens) + "\n";
}

// JSON has no NaN and no infinity.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(std::span<const TextScore> scores) {
  Json texts = Json::array();
  for (const TextScore& score : scores)
    texts.push_back({{"logprob", number_or_null(score.logprob)}, {"tokens", score.tokens}});
  const TextScore all = total(scores);
  return {{"texts", std::move(texts)},
          {"mean_nll", number_or_null(all.mean_nll())},
          {"perplexity", number_or_null(all.perplexity())},
          {"tokens", all.tokens}};
}

}  // namespace

Scores::Scores(Pipeline& pipeline, const ScoreArguments& arguments, Output& output)
    : pipeline_(&pipeline),
      arguments_(&arguments),
      output_(&output),
      progress_("scored", arguments.whole ? "texts" : "lines") {}

Status Scores::run() {
  if (arguments_->whole) {
    const Result<std::string> text = whole_text(arguments_->file);
    if (!text) return text.error();
    if (Status scored = score(std::span(&*text, 1)); !scored) return scored;
  } else {
    const Status scored = for_each_group_of_lines(arguments_->file, *output_,
                                                  [this](auto lines) { return score(lines); });
    if (!scored) return scored;
  }
  write_total();
  return {};
}

Status Scores::score(std::span<const std::string> texts) {
  ScoreOptions options;
  options.stride = arguments_->stride;
  options.on_progress = [this](std::size_t done) { progress_.show(scores_.size() + done); };
  const Result<std::vector<TextScore>> scores = pipeline_->score(texts, options);
  if (!scores) return scores.error();
  scores_.insert(scores_.end(), scores->begin(), scores->end());
  progress_.wipe();
  if (arguments_->model.artifact.json) return {};
  std::string lines;
  for (const TextScore& each : *scores) lines += line_of(each);
  output_->write(lines);
  return {};
}

void Scores::write_total() {
  if (arguments_->model.artifact.json) {
    output_->write(json_of(scores_).dump() + "\n");
    return;
  }
  const TextScore all = total(scores_);
  output_->write("mean_nll " + number_text(all.mean_nll()) + ", perplexity " +
                 number_text(all.perplexity()) + ", tokens " + std::to_string(all.tokens) + "\n");
}

}  // namespace polystate::cli
