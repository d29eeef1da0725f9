#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/generate/progress.h"
#include "cli/output.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/pipeline/text_score.h"

namespace polystate::cli {

struct ScoreArguments {
  ModelArguments model;
  std::string file;    // "-": standard input
  bool whole = false;  // it is one text, not one in each line
  std::optional<std::int64_t> stride;
};

// The scores of the texts of one command. It borrows what it is made of.
class Scores {
 public:
  Scores(Pipeline& pipeline, const ScoreArguments& arguments, Output& output);

  // Scores the texts and writes a line for each, and one for all; in JSON one in all.
  Status run();

 private:
  Status score(std::span<const std::string> texts);
  void write_total();

  Pipeline* pipeline_;
  const ScoreArguments* arguments_;
  Output* output_;
  Progress progress_;
  std::vector<TextScore> scores_;
};

}  // namespace polystate::cli
