#include "cli/generate/translate.h"

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

constexpr AnswerForm kTranslations = {
    .verb = "translated", .list = "translations", .is_line = true, .streams_on_terminal = false};

constexpr std::array kTranslateSettings = {
    SettingOption{"--beam", "num_beams", "COUNT",
                  "Beams of the search; 1: greedy (default: as the model says)"},
    SettingOption{"--n-best", "num_return_sequences", "COUNT",
                  "Print so many translations of each text, best first"},
    SettingOption{"--max-length", "max_length", "COUNT",
                  "The most tokens of a translation, its start token included"},
};

Result<ExitStatus> translate(const AnswerArguments& arguments, Output& output) {
  const auto pipeline = open_pipeline(arguments.model, Need::kAnswersTexts);
  if (!pipeline) return pipeline.error();
  const Status done = Answers(**pipeline, arguments, kTranslations, output).run();
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kTranslateExamples =
    R"(Without TEXT, each line of standard input is a text, and gives a line; a blank line a blank one.
Lines are translated in groups, as they come, and written in their order.

  polystate translate DIR "Where is the station?"
  polystate translate DIR --beam 4 <english.txt >french.txt
  polystate translate DIR --n-best 3 --scores "I like it."
  polystate translate DIR --set repetition_penalty=1.2 --set no_repeat_ngram_size=3 --file text.txt
)";

void declare_translate_options(CLI::App& command, AnswerArguments& arguments) {
  command.add_option("--file", arguments.file, "Translate the lines of a file")
      ->type_name("FILE")
      ->excludes("TEXT");
  declare_settings(command, kTranslateSettings, arguments.settings);
  declare_response_format(command, arguments.response_format);
  command
      .add_flag("--scores", arguments.scores,
                "Print the score before each translation, and a tab (beam search)")
      ->excludes("--json");
  command
      .add_flag_callback(
          "--stream", [&arguments] { arguments.stream = true; },
          "Print each word as it is found (one beam)")
      ->excludes("--json", "--scores");
  command.add_flag("--truncate", arguments.truncate,
                   "Cut texts that are too long, which are refused otherwise");
}

}  // namespace

void declare_translate(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("translate", "Translate text, or rewrite it as the model does");
  const auto arguments = std::make_shared<AnswerArguments>();
  declare_model_arguments(*command, arguments->model);
  declare_texts(*command, "TEXT", arguments->texts, "Texts to translate");
  declare_translate_options(*command, *arguments);
  command->footer(kTranslateExamples);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return translate(*arguments, output); };
  });
}

}  // namespace polystate::cli
