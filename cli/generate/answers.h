#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/generate/progress.h"
#include "cli/generate/response_formats.h"
#include "cli/generate/settings.h"
#include "cli/output.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {

// What a command is told that answers texts.
struct AnswerArguments {
  ModelArguments model;
  std::vector<std::string> texts;  // empty: what `file` has
  std::string file = "-";          // "-": standard input
  bool whole = false;              // the file is one text, not one in each line
  std::vector<Setting> settings;
  bool scores = false;
  std::optional<bool> stream;  // not given: where a command says so
  ResponseFormatArguments response_format;
  bool truncate = false;
  bool echo = false;  // write each text before its answer
};

// How a command answers texts.
struct AnswerForm {
  const char* verb;          // "translated"
  const char* list;          // the key of a text's answers in JSON: "translations"
  bool is_line;              // an answer is one line, and that of a blank text a blank one
  bool streams_on_terminal;  // without being asked to
};

// The answers to the texts of one command. It borrows what it is made of.
class Answers {
 public:
  Answers(Pipeline& pipeline, const AnswerArguments& arguments, const AnswerForm& form,
          Output& output);

  // Answers what the arguments name; kContract for what they may not say.
  Status run();

 private:
  // Takes the options from the command line.
  Status configure();
  // Answers texts, and writes a line for each, or the answer as it is.
  Status answer(std::span<const std::string> texts);
  Status answer_group(std::span<const std::string> texts);
  // One text after another, each as it comes.
  Status stream(std::span<const std::string> texts);

  // Whether a text is not given to the model.
  [[nodiscard]] bool is_left_out(const std::string& text) const;
  [[nodiscard]] std::string shown(std::string text) const;
  // What is written for one text.
  [[nodiscard]] std::string written(const std::string& text,
                                    const std::vector<GeneratedText>& answers) const;
  [[nodiscard]] std::string json(const std::vector<GeneratedText>& answers) const;

  Pipeline* pipeline_;
  const AnswerArguments* arguments_;
  AnswerForm form_;
  Output* output_;
  Progress progress_;
  PipelineOptions options_;
  bool streams_ = false;
  std::vector<std::size_t> numbers_;  // of the texts that are being answered, from 1
  std::size_t done_ = 0;
};

}  // namespace polystate::cli
