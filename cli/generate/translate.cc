#include "cli/generate/translate.h"

#include <CLI/App.hpp>
#include <memory>
#include <span>
#include <string>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/generate/lines.h"
#include "cli/generate/settings.h"
#include "cli/generate/translation.h"
#include "cli/output.h"
#include "cli/warnings.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {
namespace {

Result<ExitStatus> translate(const TranslateArguments& arguments, Output& output) {
  const auto pipeline =
      Pipeline::open(arguments.model.artifact.directory, arguments.model.model_options());
  if (!pipeline) return while_opening(pipeline.error());
  print_warnings((*pipeline)->warnings());
  Translation translation(**pipeline, arguments, output);
  if (const Status set = translation.configure(); !set) return set.error();
  const auto take = [&](std::span<const std::string> lines) {
    return translation.translate(lines);
  };
  const Status done = arguments.texts.empty()
                          ? for_each_group_of_lines(arguments.file, output, take)
                          : take(arguments.texts);
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

void declare_options(CLI::App& command, TranslateArguments& arguments) {
  command.add_option("--file", arguments.file, "Translate the lines of a file")
      ->type_name("FILE")
      ->excludes("TEXT");
  declare_settings(command, arguments.settings);
  command
      .add_flag("--scores", arguments.scores,
                "Print the score before each translation, and a tab (beam search)")
      ->excludes("--json");
  command.add_flag("--stream", arguments.stream, "Print each word as it is found (one beam)")
      ->excludes("--json", "--scores");
  command.add_flag("--truncate", arguments.truncate,
                   "Cut texts that are too long, which are refused otherwise");
}

}  // namespace

void declare_translate(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("translate", "Translate text, or rewrite it as the model does");
  const auto arguments = std::make_shared<TranslateArguments>();
  declare_model_arguments(*command, arguments->model);
  command->add_option("TEXT", arguments->texts, "Texts to translate")->type_name("");
  declare_options(*command, *arguments);
  command->footer(kTranslateExamples);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return translate(*arguments, output); };
  });
}

}  // namespace polystate::cli
