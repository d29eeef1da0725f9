#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/chat/interrupts.h"
#include "cli/chat/turn_reader.h"
#include "cli/command.h"
#include "cli/output.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {

struct TalkArguments {
  ModelArguments model;
  std::string system;
  std::string file;   // a saved conversation to go on with
  std::string tools;  // the file of a list of tools
  std::string tool_choice = "auto";
  std::optional<ResponseFormat> response_format;              // what each answer has to be
  std::vector<std::pair<std::string, std::string>> settings;  // fields of GenerationConfig, as JSON
};

// A conversation of a user with a model, on a terminal or through a pipe: turns in, answers out,
// and commands that begin with "/". It borrows what it is made of.
class Talk {
 public:
  // Errors as Chat::create and Chat::load; kContract: a setting is unknown or out of range.
  static Result<Talk> start(Pipeline& pipeline, const TalkArguments& arguments,
                            Interrupts& interrupts, Output& output);

  // Until there is nothing more to read, or /exit. On a terminal errors are shown, and the
  // conversation goes on; else the first one ends it.
  Status run(TurnReader& turns);

  // What a command does with what follows its name.
  struct Command {
    std::string_view name;
    std::string_view argument;  // how help calls it; empty: there is none
    std::string_view help;
    Status (Talk::*run)(const std::string& argument);
  };
  static const std::vector<Command>& commands();

 private:
  using Clock = std::chrono::steady_clock;

  Talk(Pipeline& pipeline, const TalkArguments& arguments, Interrupts& interrupts, Output& output,
       Chat chat);

  Status take_turn(const std::string& turn);
  Status run_command(const std::string& turn);

  Status help(const std::string& argument);
  Status system(const std::string& argument);
  Status reset(const std::string& argument);
  Status undo(const std::string& argument);
  Status retry(const std::string& argument);
  Status result(const std::string& argument);
  Status save(const std::string& argument);
  Status load(const std::string& argument);
  Status set(const std::string& argument);
  Status stats(const std::string& argument);
  Status exit(const std::string& argument);

  using Ask = std::function<Result<ChatAnswer>(const AnswerOptions& options)>;
  // Has the model answer, and writes that: piece by piece on a terminal, else a line.
  Status answer(const Ask& ask);
  [[nodiscard]] Result<GenerationConfig> config() const;
  // A line for people, on a terminal only.
  void tell(std::string_view text);
  // That there is no answer to a turn: to whoever reads along, whatever standard output is.
  void tell_stopped();
  // On a terminal; `before`: what the piece before was of.
  void write_piece(const ChatPiece& piece, ChatPiece::Kind before);
  void write_answer(const ChatAnswer& answer);

  Pipeline* pipeline_;
  const TalkArguments* arguments_;
  Interrupts* interrupts_;
  Output* output_;
  Chat chat_;
  ChatOptions options_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::optional<ChatAnswer> last_;
  double first_seconds_ = 0;  // to the first piece of the last answer
  double seconds_ = 0;        // of it
  bool is_over_ = false;
};

}  // namespace polystate::cli
