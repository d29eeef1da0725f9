#include "cli/generate/complete.h"

#include <CLI/App.hpp>
#include <array>
#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/generate/answers.h"
#include "cli/generate/open_pipeline.h"
#include "cli/generate/response_formats.h"
#include "cli/generate/settings.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr std::array kCompleteSettings = {
    SettingOption{"--max-new-tokens", "max_new_tokens", "COUNT",
                  "The most tokens that are generated (default: as the model says)"},
    SettingOption{"--n", "num_return_sequences", "COUNT",
                  "Print so many texts for each prompt (with do_sample=true, or beams)"},
    SettingOption{"--stop", "stop_strings", "TEXT",
                  "End with this text, which is printed, too; may be repeated", true},
    SettingOption{"--seed", "seed", "NUMBER", "Draw the same tokens each time"},
};

// A line of a file gives a line; an argument, or a whole file, what the model says.
AnswerForm form_of(const AnswerArguments& arguments) {
  return {.verb = "completed",
          .list = "completions",
          .is_line = arguments.texts.empty() && !arguments.whole,
          .streams_on_terminal = true};
}

Result<ExitStatus> complete(const AnswerArguments& arguments, Output& output) {
  const auto pipeline = open_pipeline(arguments.model, Need::kContinuesTexts);
  if (!pipeline) return pipeline.error();
  const Status done = Answers(**pipeline, arguments, form_of(arguments), output).run();
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kCompleteExamples =
    R"(Prints what the model says after each PROMPT. Without PROMPT, each line of standard input is one,
and gives a line; a blank line a blank one.

  polystate complete DIR "The capital of France is"
  polystate complete DIR --set do_sample=true --set temperature=0.7 --n 3 "Once upon a time"
  polystate complete DIR --max-new-tokens 20 --stop "." <prompts.txt >texts.txt
  polystate complete DIR --whole --file story.txt
)";

void declare_complete_options(CLI::App& command, AnswerArguments& arguments) {
  command.add_option("--file", arguments.file, "Continue the lines of a file")
      ->type_name("FILE")
      ->excludes("PROMPT");
  command.add_flag("--whole", arguments.whole, "The file, or standard input, is one prompt")
      ->excludes("PROMPT");
  declare_settings(command, kCompleteSettings, arguments.settings);
  declare_response_format(command, arguments.response_format);
  command.add_flag("--echo", arguments.echo, "Print each prompt before its text")
      ->excludes("--json");
  command
      .add_flag_callback(
          "--stream", [&arguments] { arguments.stream = true; },
          "Print each word as it is found (default: on a terminal, without --n)")
      ->excludes("--json");
  command
      .add_flag_callback(
          "--no-stream", [&arguments] { arguments.stream = false; }, "Print each text as a whole")
      ->excludes("--stream");
  command.add_flag("--truncate", arguments.truncate,
                   "Cut the beginning of prompts that are too long; else they are refused");
}

}  // namespace

void declare_complete(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand("complete", "Continue text");
  const auto arguments = std::make_shared<AnswerArguments>();
  declare_model_arguments(*command, arguments->model);
  declare_texts(*command, "PROMPT", arguments->texts, "Texts to continue");
  declare_complete_options(*command, *arguments);
  command->footer(kCompleteExamples);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return complete(*arguments, output); };
  });
}

}  // namespace polystate::cli
