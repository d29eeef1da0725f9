#include "cli/translate.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

// Lines that are translated together: few at first, for an early answer, then twice as many each
// time, up to enough to batch them by length and few enough to hold.
constexpr std::size_t kFirstGroup = 64;
constexpr std::size_t kLargestGroup = 2048;

struct TranslateArguments {
  ModelArguments model;
  std::vector<std::string> texts;                             // empty: the lines of `file`
  std::string file = "-";                                     // "-": standard input
  std::vector<std::pair<std::string, std::string>> settings;  // of GenerationConfig, as JSON
  bool scores = false;
  bool stream = false;
  bool truncate = false;
};

// A text in one line.
std::string in_a_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string score_text(const GeneratedText& text) {
  return text.score ? number_text(*text.score) + "\t" : "";
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "polystate: warning: %s\n", printable(warning).c_str());
}

// The translations of the texts of one command.
class Translation {
 public:
  Translation(Pipeline& pipeline, const TranslateArguments& arguments, Output& output)
      : pipeline_(&pipeline),
        arguments_(&arguments),
        output_(&output),
        progress_("translated", "lines") {}

  // Fills the options from the command line; kContract for a value that they may not have.
  Status configure() {
    GenerationConfig config = pipeline_->default_config();
    if (arguments_->stream) config.num_beams = config.num_return_sequences = 1;
    std::vector<std::string> warnings;
    for (const auto& [name, value] : arguments_->settings) {
      if (Status set = config.set(name, value, &warnings); !set) return set;
    }
    print_warnings(warnings);
    if (arguments_->scores && config.num_beams == 1) {
      return Error{ErrorCode::kContract,
                   "--scores are of a beam search, and there is one beam: --beam 4"};
    }
    options_.config = std::move(config);
    options_.truncate = arguments_->truncate;
    options_.name_of = [this](std::size_t input) {
      return (arguments_->texts.empty() ? "line " : "text ") + std::to_string(numbers_[input]);
    };
    return {};
  }

  // Translates lines, and writes a line for each; a blank line gives a blank line.
  Status translate(std::span<const std::string> lines) {
    return arguments_->stream ? stream(lines) : translate_group(lines);
  }

 private:
  Status translate_group(std::span<const std::string> lines) {
    std::vector<std::string> texts;
    numbers_.clear();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (is_blank(lines[i])) continue;
      texts.push_back(lines[i]);
      numbers_.push_back(done_ + i + 1);
    }
    options_.on_progress = [this](std::size_t done) { progress_.show(done_ + done); };
    const auto answers = pipeline_->run(texts, options_);
    if (!answers) return answers.error();
    std::string written;
    for (std::size_t i = 0, next = 0; i < lines.size(); ++i)
      written += is_blank(lines[i]) ? blank() : answer((*answers)[next++]);
    progress_.wipe();
    output_->write(written);
    done_ += lines.size();
    return {};
  }

  // One text after another, each as it comes.
  Status stream(std::span<const std::string> lines) {
    options_.on_text = [this](std::size_t, std::string_view piece) {
      output_->write(in_a_line(std::string(piece)));
      return !output_->is_closed();
    };
    for (const std::string& line : lines) {
      numbers_ = {++done_};
      if (!is_blank(line)) {
        if (const auto answer = pipeline_->run(std::span(&line, 1), options_); !answer)
          return answer.error();
      }
      output_->write("\n");
    }
    return {};
  }

  [[nodiscard]] std::string blank() const {
    return arguments_->model.artifact.json ? R"({"translations":[{"text":""}]})"
                                             "\n"
                                           : "\n";
  }

  [[nodiscard]] std::string answer(const std::vector<GeneratedText>& texts) const {
    std::string lines;
    Json translations = Json::array();
    for (const GeneratedText& text : texts) {
      if (arguments_->model.artifact.json) {
        Json translation = {{"text", text.text}};
        if (text.score) translation["score"] = *text.score;
        translations.push_back(std::move(translation));
      } else {
        lines += (arguments_->scores ? score_text(text) : "") + in_a_line(text.text) + "\n";
      }
    }
    if (!arguments_->model.artifact.json) return lines;
    return Json({{"translations", std::move(translations)}}).dump() + "\n";
  }

  Pipeline* pipeline_;
  const TranslateArguments* arguments_;
  Output* output_;
  Progress progress_;
  PipelineOptions options_;
  std::vector<std::size_t> numbers_;  // of the lines that are being translated, from 1
  std::size_t done_ = 0;
};

Status translate_lines(Translation& translation, int descriptor, const Output& output) {
  LineReader reader(descriptor);
  for (std::size_t group = kFirstGroup; !output.is_closed();
       group = std::min(2 * group, kLargestGroup)) {
    const Result<std::vector<std::string>> lines = reader.next(group);
    if (!lines) return lines.error();
    if (lines->empty()) break;
    if (Status done = translation.translate(*lines); !done) return done;
  }
  return {};
}

Status translate_file(Translation& translation, const std::string& file, const Output& output) {
  if (file == "-") return translate_lines(translation, STDIN_FILENO, output);
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Error{ErrorCode::kContract,
                 "'" + file + "' cannot be read: " + std::string(std::strerror(errno))};
  }
  Status done = translate_lines(translation, descriptor, output);
  ::close(descriptor);
  return done;
}

Result<ExitStatus> translate(const TranslateArguments& arguments, Output& output) {
  const auto pipeline =
      Pipeline::open(arguments.model.artifact.directory, arguments.model.model_options());
  if (!pipeline) return while_opening(pipeline.error());
  print_warnings((*pipeline)->warnings());
  Translation translation(**pipeline, arguments, output);
  if (const Status set = translation.configure(); !set) return set.error();
  const Status done = arguments.texts.empty() ? translate_file(translation, arguments.file, output)
                                              : translation.translate(arguments.texts);
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

// NAME=VALUE; a value that is no JSON is a text.
std::pair<std::string, std::string> setting_of(const std::string& text) {
  const std::size_t equal = text.find('=');
  std::string value = equal == std::string::npos ? "" : text.substr(equal + 1);
  if (!Json::accept(value))
    value = Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  return {text.substr(0, equal), std::move(value)};
}

std::string setting_fault(const std::string& text) {
  if (text.find('=') == std::string::npos)
    return "'" + text + "': NAME=VALUE is needed, a field and what it shall be";
  const auto [name, value] = setting_of(text);
  const Status set = GenerationConfig().set(name, value);
  return set ? "" : set.error().message;
}

// An option that sets a field of GenerationConfig.
struct SettingOption {
  const char* name;
  const char* prefix;  // goes before what the user writes: "num_beams="
  const char* type;
  const char* help;
};

constexpr std::array kSettings = {
    SettingOption{"--beam", "num_beams=", "COUNT",
                  "Beams of the search; 1: greedy (default: as the model says)"},
    SettingOption{"--n-best", "num_return_sequences=", "COUNT",
                  "Print so many translations of each text, best first"},
    SettingOption{"--max-length", "max_length=", "COUNT",
                  "The most tokens of a translation, its start token included"},
    SettingOption{"--set", "", "NAME=VALUE",
                  "A field of transformers' GenerationConfig; may be repeated"},
};

// In the order of the command line: the last one counts.
void add_setting(CLI::App& command, TranslateArguments& arguments, const SettingOption& option) {
  command
      .add_option_function<std::string>(
          option.name,
          [&arguments, &option](const std::string& text) {
            arguments.settings.push_back(setting_of(option.prefix + text));
          },
          option.help)
      ->type_name(option.type)
      ->check([&option](const std::string& text) { return setting_fault(option.prefix + text); })
      ->trigger_on_parse();
}

void declare_options(CLI::App& command, TranslateArguments& arguments) {
  command.add_option("--file", arguments.file, "Translate the lines of a file")
      ->type_name("FILE")
      ->excludes("TEXT");
  for (const SettingOption& option : kSettings) add_setting(command, arguments, option);
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
