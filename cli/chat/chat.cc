#include "cli/chat/chat.h"

#include <CLI/App.hpp>
#include <array>
#include <memory>

#include "cli/chat/interrupts.h"
#include "cli/chat/talk.h"
#include "cli/chat/turn_reader.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/generate/open_pipeline.h"
#include "cli/generate/settings.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr std::array kChatSettings = {
    SettingOption{"--max-new-tokens", "max_new_tokens", "COUNT",
                  "The most tokens of an answer (default: as the model says)"},
    SettingOption{"--stop", "stop_strings", "TEXT",
                  "End an answer with this text, which is printed, too; may be repeated", true},
    SettingOption{"--seed", "seed", "NUMBER", "Draw the same tokens for each answer"},
};

Result<ExitStatus> chat(const TalkArguments& arguments, Output& output) {
  const auto pipeline = open_pipeline(arguments.model, Need::kContinuesTexts);
  if (!pipeline) return pipeline.error();
  Interrupts interrupts;
  Result<Talk> talk = Talk::start(**pipeline, arguments, interrupts, output);
  if (!talk) return talk.error();
  const std::unique_ptr<TurnReader> turns = open_turn_reader(interrupts, output);
  const Status done = talk->run(*turns);
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kChatExamples =
    R"(On a terminal, a conversation: answers are shown as they are found, and /help lists commands. Else
each line of standard input is a turn or a command, and each answer a line, in which line feeds become
spaces, or a line of JSON.

  polystate chat DIR
  polystate chat DIR --system "Be brief." --set do_sample=true --set temperature=0.7
  printf 'Where is Brest?\nAnd Lyon?\n' | polystate chat DIR --json
)";

}  // namespace

void declare_chat(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand("chat", "Talk with a chat model");
  const auto arguments = std::make_shared<TalkArguments>();
  declare_model_arguments(*command, arguments->model);
  command
      ->add_option("--system", arguments->system,
                   "The message of the system that the conversation begins with")
      ->type_name("TEXT");
  command->add_option("--load", arguments->file, "Go on with a conversation that /save saved")
      ->type_name("FILE");
  declare_settings(*command, kChatSettings, arguments->settings);
  command->footer(kChatExamples);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return chat(*arguments, output); };
  });
}

}  // namespace polystate::cli
