#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/generate/progress.h"
#include "cli/generate/settings.h"
#include "cli/output.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {

struct TranslateArguments {
  ModelArguments model;
  std::vector<std::string> texts;  // empty: the lines of `file`
  std::string file = "-";          // "-": standard input
  std::vector<Setting> settings;
  bool scores = false;
  bool stream = false;
  bool truncate = false;
};

// The translations of the texts of one command. It borrows what it is made of.
class Translation {
 public:
  Translation(Pipeline& pipeline, const TranslateArguments& arguments, Output& output);

  // Takes the options from the command line; kContract for a value that they may not have.
  Status configure();

  // Translates lines, and writes a line for each; a blank line gives a blank line.
  Status translate(std::span<const std::string> lines);

 private:
  Status translate_group(std::span<const std::string> lines);
  // One text after another, each as it comes.
  Status stream(std::span<const std::string> lines);
  // The lines that are written for the translations of one text.
  [[nodiscard]] std::string answer(const std::vector<GeneratedText>& texts) const;

  Pipeline* pipeline_;
  const TranslateArguments* arguments_;
  Output* output_;
  Progress progress_;
  PipelineOptions options_;
  std::vector<std::size_t> numbers_;  // of the lines that are being translated, from 1
  std::size_t done_ = 0;
};

}  // namespace polystate::cli
