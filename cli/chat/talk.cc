#include "cli/chat/talk.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>  // IWYU pragma: keep (definitions of what json_fwd.hpp declares)
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "cli/chat/interrupts.h"
#include "cli/chat/turn_reader.h"
#include "cli/exit_status.h"
#include "cli/generate/lines.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/warnings.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";

// Text of several lines as it may be shown on a terminal.
std::string shown(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    safe += printable(text.substr(0, end));
    if (end < text.size()) safe += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string decimals(double value, int digits) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

Json json_of(const ChatUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"cached_tokens", usage.cached_tokens},
          {"generated_tokens", usage.generated_tokens},
          {"answers_encoded_again", usage.answers_encoded_again},
          {"messages_left_out", usage.messages_left_out}};
}

// A saved conversation, which is an input: that it cannot be read is its fault.
Result<Chat> load_chat(Pipeline& pipeline, const std::string& file, const ChatOptions& options) {
  Result<Chat> chat = Chat::load(pipeline, file, options);
  if (!chat) return while_reading_input(chat.error());
  return chat;
}

}  // namespace

Talk::Talk(Pipeline& pipeline, const TalkArguments& arguments, Interrupts& interrupts,
           Output& output, Chat chat)
    : pipeline_(&pipeline),
      arguments_(&arguments),
      interrupts_(&interrupts),
      output_(&output),
      chat_(std::move(chat)),
      settings_(arguments.settings) {}

Result<Talk> Talk::start(Pipeline& pipeline, const TalkArguments& arguments, Interrupts& interrupts,
                         Output& output) {
  ChatOptions options;
  options.tool_choice = arguments.tool_choice;
  if (!arguments.tools.empty()) {
    const Result<std::string> text = whole_text(arguments.tools);
    if (!text) return text.error();
    Result<TemplateValue> tools = TemplateValue::parse_json(*text);
    if (!tools) return Error{tools.error().code, "the tools: " + tools.error().message};
    options.tools = std::move(*tools);
  }
  Result<Chat> chat = arguments.file.empty() ? Chat::create(pipeline, options)
                                             : load_chat(pipeline, arguments.file, options);
  if (!chat) return chat.error();
  if (!arguments.system.empty()) chat->set_system(arguments.system);
  Talk talk(pipeline, arguments, interrupts, output, std::move(*chat));
  talk.options_ = std::move(options);
  if (const Result<GenerationConfig> config = talk.config(); !config) return config.error();
  return talk;
}

Status Talk::run(TurnReader& turns) {
  tell(
      "A text is answered; several lines are one turn if pasted, or if they end in \\.\n"
      "Ctrl-C stops an answer, Ctrl-D ends; /help lists commands.\n");
  for (std::size_t number = 1; !is_over_ && !output_->is_closed(); ++number) {
    const Result<std::optional<std::string>> turn = turns.read();
    if (!turn) return turn.error();
    if (!*turn) break;
    if (is_blank(**turn)) continue;
    const Status done = take_turn(**turn);
    if (done) continue;
    if (!output_->is_terminal()) {
      return Error{done.error().code,
                   "turn " + std::to_string(number) + ": " + done.error().message};
    }
    const bool has_colour = output_->has_colour();
    output_->write((has_colour ? std::string(kRed) : "") + printable(done.error().message) +
                   (has_colour ? std::string(kPlain) : "") + "\n");
  }
  return {};
}

Status Talk::take_turn(const std::string& turn) {
  if (turn.starts_with('/') && !turn.starts_with("//")) return run_command(turn);
  const std::string text = turn.starts_with("//") ? turn.substr(1) : turn;
  return answer([&](const AnswerOptions& options) { return chat_.ask(text, options); });
}

Status Talk::run_command(const std::string& turn) {
  const std::size_t space = std::min(turn.find_first_of(" \t\n"), turn.size());
  const std::string name = turn.substr(0, space);
  const std::size_t begin = std::min(turn.find_first_not_of(" \t\n", space), turn.size());
  std::string argument = turn.substr(begin);
  argument.erase(argument.find_last_not_of(" \t\n") + 1);
  const auto found = std::ranges::find(commands(), name, &Command::name);
  if (found == commands().end()) {
    return Error{ErrorCode::kContract, "there is no command " + name +
                                           ": /help lists those there are; a text that begins "
                                           "with / is given with another one, as in //etc"};
  }
  if (found->argument.empty() && !argument.empty())
    return Error{ErrorCode::kContract, name + " takes nothing behind it"};
  return (this->*found->run)(argument);
}

const std::vector<Talk::Command>& Talk::commands() {
  static const std::vector<Command> kCommands = {
      {"/help", "", "List the commands", &Talk::help},
      {"/system", "[TEXT]", "Begin the conversation with this message of the system, or none",
       &Talk::system},
      {"/reset", "", "Forget all messages but the system's", &Talk::reset},
      {"/undo", "", "Take back the last turn", &Talk::undo},
      {"/retry", "", "Answer the last turn again", &Talk::retry},
      {"/result", "TEXT", "Give the result of a call; the last one is answered", &Talk::result},
      {"/save", "FILE", "Save the conversation", &Talk::save},
      {"/load", "FILE", "Go on with a saved conversation", &Talk::load},
      {"/set", "[NAME=VALUE]", "Set a field of GenerationConfig; show what is set", &Talk::set},
      {"/stats", "", "Show how many tokens there are, and what the last answer took", &Talk::stats},
      {"/exit", "", "End", &Talk::exit},
  };
  return kCommands;
}

Status Talk::help(const std::string& /*argument*/) {
  std::string text;
  for (const Command& command : commands()) {
    std::string usage(command.name);
    if (!command.argument.empty()) usage.append(" ").append(command.argument);
    usage.resize(std::max<std::size_t>(usage.size() + 1, 22), ' ');
    text += usage.append(command.help).append("\n");
  }
  if (!arguments_->model.artifact.json) output_->write(text);
  return {};
}

Status Talk::system(const std::string& argument) {
  chat_.set_system(argument);
  tell(argument.empty() ? "There is no message of the system.\n"
                        : "The conversation begins with this.\n");
  return {};
}

Status Talk::reset(const std::string& /*argument*/) {
  chat_.reset();
  tell("The conversation begins anew.\n");
  return {};
}

Status Talk::undo(const std::string& /*argument*/) {
  if (!chat_.undo()) return Error{ErrorCode::kContract, "there is no turn to take back"};
  tell("The last turn is taken back.\n");
  return {};
}

Status Talk::retry(const std::string& /*argument*/) {
  return answer([&](const AnswerOptions& options) { return chat_.retry(options); });
}

Status Talk::result(const std::string& argument) {
  const Result<std::size_t> left = chat_.add_result(argument);
  if (!left) return left.error();
  if (*left > 0) return {};
  return answer([&](const AnswerOptions& options) { return chat_.answer(options); });
}

Status Talk::save(const std::string& argument) {
  if (argument.empty()) return Error{ErrorCode::kContract, "/save needs the name of a file"};
  if (Status saved = chat_.save(argument); !saved) return saved;
  tell("Saved.\n");
  return {};
}

Status Talk::load(const std::string& argument) {
  if (argument.empty()) return Error{ErrorCode::kContract, "/load needs the name of a file"};
  Result<Chat> loaded = load_chat(*pipeline_, argument, options_);
  if (!loaded) return loaded.error();
  chat_ = std::move(*loaded);
  tell("The conversation has " + std::to_string(chat_.messages().size()) + " messages.\n");
  return {};
}

Status Talk::set(const std::string& argument) {
  if (argument.empty()) {
    std::string text;
    for (const auto& [name, value] : settings_)
      text.append(name).append("=").append(value).append("\n");
    tell(text.empty() ? "Nothing is set.\n" : text);
    return {};
  }
  const std::size_t equal = argument.find('=');
  if (equal == std::string::npos) {
    return Error{ErrorCode::kContract,
                 "/set needs NAME=VALUE, a field and what it shall be, as in /set temperature=0.7"};
  }
  std::string value = argument.substr(equal + 1);
  if (!Json::accept(value))
    value = Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto before = settings_;
  std::erase_if(settings_,
                [&](const auto& each) { return each.first == argument.substr(0, equal); });
  settings_.emplace_back(argument.substr(0, equal), value);
  const Result<GenerationConfig> changed = config();
  if (changed) return {};
  settings_ = before;
  return changed.error();
}

Status Talk::stats(const std::string& /*argument*/) {
  const Result<std::int64_t> tokens = chat_.count_tokens();
  if (!tokens) return tokens.error();
  if (arguments_->model.artifact.json) {
    Json json = {{"messages", chat_.messages().size()},
                 {"tokens", *tokens},
                 {"max_tokens", chat_.max_tokens()}};
    if (last_) json["usage"] = json_of(last_->usage);
    output_->write(line_of({{"stats", std::move(json)}}));
    return {};
  }
  std::string text = std::to_string(chat_.messages().size()) + " messages of " +
                     std::to_string(*tokens) + " tokens; the model has room for " +
                     std::to_string(chat_.max_tokens()) + "\n";
  if (last_) {
    const ChatUsage& usage = last_->usage;
    const double rest = std::max(seconds_ - first_seconds_, 1e-9);
    text += "the last answer: " + std::to_string(usage.prompt_tokens - usage.cached_tokens) +
            " tokens read, " + std::to_string(usage.cached_tokens) +
            " known before, first word after " + decimals(first_seconds_, 2) + " s; " +
            std::to_string(usage.generated_tokens) + " generated";
    if (usage.generated_tokens > 1) {
      text +=
          ", " + decimals(static_cast<double>(usage.generated_tokens - 1) / rest, 1) + " a second";
    }
    text += '\n';
  }
  output_->write(text);
  return {};
}

Status Talk::exit(const std::string& /*argument*/) {
  is_over_ = true;
  return {};
}

Status Talk::answer(const Ask& ask) {
  Result<GenerationConfig> configured = config();
  if (!configured) return configured.error();
  AnswerOptions options;
  options.config = std::move(*configured);
  const bool streams = output_->is_terminal() && !arguments_->model.artifact.json;
  const Clock::time_point start = Clock::now();
  bool has_begun = false;
  interrupts_->forget_stop();
  options.response_format = arguments_->response_format;
  ChatPiece::Kind last = ChatPiece::Kind::kContent;
  options.on_piece = [&](const ChatPiece& piece) {
    if (!std::exchange(has_begun, true))
      first_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
    if (streams) write_piece(piece, std::exchange(last, piece.kind));
    return !interrupts_->is_stopped() && !output_->is_closed();
  };
  // What has begun is kept.
  options.is_cancelled = [&] { return interrupts_->is_stopped() && !has_begun; };
  Result<ChatAnswer> answered = ask(options);
  const bool is_stopped = interrupts_->is_stopped();
  interrupts_->forget_stop();
  if (!answered) {
    if (!is_stopped) return answered.error();
    tell_stopped();
    return {};
  }
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  write_answer(*answered);
  print_warnings(answered->warnings);
  last_ = std::move(*answered);
  return {};
}

void Talk::write_piece(const ChatPiece& piece, ChatPiece::Kind before) {
  if (piece.kind == ChatPiece::Kind::kCall) return;  // which is shown when it is whole
  const bool begins_content = before == ChatPiece::Kind::kThinking && piece.kind != before;
  const bool is_dim = piece.kind == ChatPiece::Kind::kThinking && output_->has_colour();
  output_->write((begins_content ? "\n\n" : "") + (is_dim ? std::string(kDim) : "") +
                 shown(piece.text) + (is_dim ? std::string(kPlain) : ""));
}

void Talk::write_answer(const ChatAnswer& answer) {
  const bool has_calls = !answer.tool_calls.value().is_none();
  const std::string calls = has_calls ? answer.tool_calls.to_json().value() : std::string();
  if (arguments_->model.artifact.json) {
    Json json = {{"text", answer.text}};
    if (!answer.thinking.empty()) json["thinking"] = answer.thinking;
    if (has_calls) json["tool_calls"] = Json::parse(calls, nullptr, /*allow_exceptions=*/false);
    json["finish_reason"] = name_of(answer.finish_reason);
    json["usage"] = json_of(answer.usage);
    output_->write(line_of(json));
    return;
  }
  if (!output_->is_terminal()) {
    std::string line = answer.text;
    if (has_calls) line += (line.empty() ? "" : " ") + calls;
    std::ranges::replace(line, '\n', ' ');
    output_->write(line + "\n");
    return;
  }
  output_->write("\n");
  if (has_calls) tell("(calls " + calls + "; /result TEXT gives the result)\n");
  if (answer.finish_reason == FinishReason::kUnfinished) tell("(stopped)\n");
  if (answer.finish_reason == FinishReason::kLength)
    tell("(there is no room for more: /set max_new_tokens, or the model's)\n");
  if (answer.usage.messages_left_out > 0) {
    tell("(the model does not see the first " + std::to_string(answer.usage.messages_left_out) +
         " messages any more)\n");
  }
}

Result<GenerationConfig> Talk::config() const {
  GenerationConfig config = chat_.default_config();
  std::vector<std::string> warnings;
  for (const auto& [name, value] : settings_) {
    if (const Status set = config.set(name, value, &warnings); !set) return set.error();
  }
  return config;
}

void Talk::tell_stopped() {
  constexpr std::string_view kStopped =
      "(stopped before the answer began: the turn is taken back)\n";
  if (output_->is_terminal() && !arguments_->model.artifact.json) {
    tell(kStopped);
  } else {
    Output(STDERR_FILENO).write(kStopped);
  }
}

void Talk::tell(std::string_view text) {
  if (!output_->is_terminal() || arguments_->model.artifact.json) return;
  const bool has_colour = output_->has_colour();
  output_->write((has_colour ? std::string(kDim) : "") + shown(text) +
                 (has_colour ? std::string(kPlain) : ""));
}

}  // namespace polystate::cli
