#include "cli/generate/score.h"

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/generate/open_pipeline.h"
#include "cli/generate/scores.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

Result<ExitStatus> score(const ScoreArguments& arguments, Output& output) {
  const auto pipeline = open_pipeline(arguments.model, Need::kContinuesTexts);
  if (!pipeline) return pipeline.error();
  const Status done = Scores(**pipeline, arguments, output).run();
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kScoreExamples =
    R"(Prints the log-probability of each text and its tokens, and last those of all: mean_nll (of a token,
natural logarithm), perplexity and tokens.

  polystate score DIR lines.txt
  polystate score DIR --whole book.txt --stride 64
  polystate score DIR - --json <lines.txt
)";

}  // namespace

void declare_score(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("score", "Measure how probable a model finds text");
  const auto arguments = std::make_shared<ScoreArguments>();
  declare_model_arguments(*command, arguments->model);
  command->add_option("FILE", arguments->file, "A text in each line; -: standard input")
      ->type_name("")
      ->required();
  command->add_flag("--whole", arguments->whole, "The file is one text");
  command
      ->add_option("--stride", arguments->stride,
                   "Tokens from window to window of a long text (default: half a window)")
      ->type_name("COUNT")
      ->check(
          CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""));
  command->footer(kScoreExamples);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return score(*arguments, output); };
  });
}

}  // namespace polystate::cli
