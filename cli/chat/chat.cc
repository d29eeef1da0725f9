#include "cli/chat/chat.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "cli/chat/interrupts.h"
#include "cli/chat/talk.h"
#include "cli/chat/turn_reader.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/generate/open_pipeline.h"
#include "cli/generate/response_formats.h"
#include "cli/generate/settings.h"
#include "cli/output.h"
#include "cli/text.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"

namespace polystate::cli {
namespace {

constexpr std::array kChatSettings = {
    SettingOption{"--max-new-tokens", "max_new_tokens", "COUNT",
                  "The most tokens of an answer (default: as the model says)"},
    SettingOption{"--stop", "stop_strings", "TEXT",
                  "End an answer with this text, which is printed, too; may be repeated", true},
    SettingOption{"--seed", "seed", "NUMBER", "Draw the same tokens for each answer"},
};

// What the command is told.
struct ChatArguments {
  TalkArguments talk;
  ResponseFormatArguments response_format;
};

Result<ExitStatus> chat(ChatArguments given, Output& output) {
  TalkArguments& arguments = given.talk;
  Result<std::optional<ResponseFormat>> format = response_format(given.response_format);
  if (!format) return format.error();
  arguments.response_format = *std::move(format);
  const auto pipeline = open_pipeline(arguments.model, Need::kContinuesTexts);
  if (!pipeline) return pipeline.error();
  // A person stops an answer and goes on; what has no terminal is ended by Ctrl-C, as elsewhere.
  Interrupts interrupts(::isatty(STDIN_FILENO) == 1);
  Result<Talk> talk = Talk::start(**pipeline, arguments, interrupts, output);
  if (!talk) return talk.error();
  Output errors(STDERR_FILENO);
  const std::unique_ptr<TurnReader> turns = open_turn_reader(interrupts, output, errors);
  const Status done = talk->run(*turns);
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kChatExamples =
    R"(On a terminal, a conversation: answers are shown as they are found, and /help lists commands.
Else each line of standard input is a turn or a command, and each answer a line, in which line
feeds become spaces, or a line of JSON.

  polystate chat DIR
  polystate chat DIR --system "Be brief." --set do_sample=true --set temperature=0.7
  printf 'Where is Brest?\nAnd Lyon?\n' | polystate chat DIR --json
  printf 'Is it warm in Brest?\n/result 21 degrees\n' | polystate chat DIR --tools FILE --json
)";

}  // namespace

void declare_chat(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand("chat", "Talk with a chat model");
  const auto given = std::make_shared<ChatArguments>();
  TalkArguments* const arguments = &given->talk;
  declare_model_arguments(*command, arguments->model);
  command
      ->add_option("--system", arguments->system,
                   "The message of the system that the conversation begins with")
      ->type_name("TEXT");
  command->add_option("--load", arguments->file, "Go on with a conversation that /save saved")
      ->type_name("FILE")
      ->check(empty_fault);
  command
      ->add_option("--tools", arguments->tools,
                   "Tools that the model may call: a file with a JSON list of them")
      ->type_name("FILE")
      ->check(empty_fault);
  command
      ->add_option("--tool-choice", arguments->tool_choice,
                   "auto, none, required, or the name of the tool that each answer calls")
      ->type_name("CHOICE");
  declare_response_format(*command, given->response_format);
  declare_settings(*command, kChatSettings, arguments->settings);
  command->footer(kChatExamples);
  command->callback(
      [given, &action] { action = [given](Output& output) { return chat(*given, output); }; });
}

}  // namespace polystate::cli
