#include "cli/tokenize/tokenize.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <CLI/Option.hpp>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/warnings.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeArguments {
  std::filesystem::path path;
  std::vector<std::string> texts;  // empty: the lines of standard input
  bool decode = false;
  bool json = false;
  TokenizerOptions open;
  EncodeOptions encode;
  DecodeOptions decoding;
};

// One line; bytes that are no UTF-8, as tokens of TikToken files may have, as U+FFFD.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ids_text(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text + "\n";
}

Json encoding_json(const Tokenizer& tokenizer, const Encoding& encoding) {
  Json tokens = Json::array();
  for (const TokenId id : encoding.ids) tokens.push_back(tokenizer.id_to_token(id).value_or(""));
  Json offsets = Json::array();
  for (const TextRange& range : encoding.offsets) offsets.push_back({range.begin, range.end});
  return {{"ids", encoding.ids}, {"tokens", std::move(tokens)}, {"offsets", std::move(offsets)}};
}

Result<std::string> encoded(const Tokenizer& tokenizer, const TokenizeArguments& arguments,
                            std::string_view text) {
  const Result<Encoding> encoding = tokenizer.encode(text, arguments.encode);
  if (!encoding) return encoding.error();
  return arguments.json ? line_of(encoding_json(tokenizer, *encoding)) : ids_text(encoding->ids);
}

// "1 2 3", also with commas between them and brackets around them.
Result<std::vector<TokenId>> read_ids(std::string_view text) {
  constexpr std::string_view kSeparators = " \t\r,[]";
  std::vector<TokenId> ids;
  for (std::size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;
       begin = text.find_first_not_of(kSeparators)) {
    text.remove_prefix(begin);
    const std::string_view number = text.substr(0, text.find_first_of(kSeparators));
    TokenId id = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (error != std::errc() || end != number.data() + number.size())
      return Error{ErrorCode::kContract, "'" + std::string(number) + "' is no id of a token"};
    ids.push_back(id);
    text.remove_prefix(number.size());
  }
  return ids;
}

Result<std::string> decoded(const Tokenizer& tokenizer, const TokenizeArguments& arguments,
                            std::string_view text) {
  const Result<std::vector<TokenId>> ids = read_ids(text);
  if (!ids) return ids.error();
  const Result<std::string> out = tokenizer.decode(*ids, arguments.decoding);
  if (!out) return out.error();
  return arguments.json ? line_of({{"text", *out}}) : *out + "\n";
}

using Answer = std::function<Result<std::string>(std::string_view)>;

// Answers each line as soon as it is read, so that a program may ask through a pipe.
Status answer_lines(const Answer& answer, Output& output) {
  constexpr std::size_t kTogether = 64;
  LineReader reader(STDIN_FILENO, LineEnd::kLineFeed);
  for (std::size_t number = 1; !output.is_closed();) {
    const Result<std::vector<std::string>> lines = reader.next(kTogether);
    if (!lines) return lines.error();
    if (lines->empty()) break;
    for (const std::string& line : *lines) {
      const Result<std::string> text = answer(line);
      if (!text) {
        return Error{text.error().code,
                     "line " + std::to_string(number) + ": " + text.error().message};
      }
      output.write(*text);
      ++number;
    }
  }
  return {};
}

Status answer_arguments(const Answer& answer, const TokenizeArguments& arguments, Output& output) {
  std::vector<std::string> texts = arguments.texts;
  if (arguments.decode) texts = {joined(texts, " ")};
  for (const std::string& text : texts) {
    const Result<std::string> line = answer(text);
    if (!line) return line.error();
    output.write(*line);
  }
  return {};
}

Result<ExitStatus> tokenize(const TokenizeArguments& arguments, Output& output) {
  const auto tokenizer = Tokenizer::open(arguments.path, arguments.open);
  if (!tokenizer) return while_opening(tokenizer.error());
  print_warnings((*tokenizer)->warnings());
  const Answer answer = [&](std::string_view text) {
    return arguments.decode ? decoded(**tokenizer, arguments, text)
                            : encoded(**tokenizer, arguments, text);
  };
  const Status done = arguments.texts.empty() ? answer_lines(answer, output)
                                              : answer_arguments(answer, arguments, output);
  if (!done) return done.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kTokenizeExamples =
    R"(PATH is tokenizer.json, a SentencePiece model or a TikToken file, or a directory that has one:
a model of Hugging Face, Marian's or M2M100's files, an artifact. Without TEXT, each line of
standard input is a text, and is answered at once: by a line of ids or of JSON, or, with --decode,
by text that may have several lines.

  polystate tokenize DIR "Hello, world"
  polystate tokenize DIR --json <text.txt
  polystate tokenize DIR --decode 8774 6 296
)";

// The id in TOKEN=ID.
std::optional<TokenId> id_of(const std::string& token) {
  const std::size_t equal = token.rfind('=');
  if (equal == std::string::npos || equal == 0) return std::nullopt;
  const Result<std::vector<TokenId>> ids = read_ids(std::string_view(token).substr(equal + 1));
  return ids && ids->size() == 1 ? std::optional(ids->front()) : std::nullopt;
}

std::string special_token_fault(const std::string& token) {
  return id_of(token) ? "" : "'" + token + "' is not TOKEN=ID";
}

void add_special_token(const std::string& token, TokenizerOptions& options) {
  const std::optional<TokenId> id = id_of(token);
  if (!id) return;  // special_token_fault has refused it
  if (!options.tik_token) options.tik_token.emplace();
  const std::string name = token.substr(0, token.rfind('='));
  if (!options.tik_token->special_tokens.emplace(name, *id).second)
    throw CLI::ValidationError("--special-token", "'" + name + "' is given twice");
}

std::string policy_fault(const std::string& name) {
  const Result<SpecialTokenPolicy> policy = special_token_policy(name);
  return policy ? "" : policy.error().message;
}

void declare_options(CLI::App& command, TokenizeArguments& arguments) {
  CLI::Option* const decode =
      command.add_flag("--decode", arguments.decode, "TEXT is ids; print their text");
  command.add_flag("--json", arguments.json,
                   "One line of JSON a text: ids, tokens and offsets in bytes; or the text");
  command
      .add_flag("!--no-special-tokens", arguments.encode.add_special_tokens,
                "Add none of the tokens that the file adds around a text")
      ->excludes(decode);
  command
      .add_flag("!--keep-special-tokens", arguments.decoding.skip_special_tokens,
                "With --decode: print special tokens")
      ->needs(decode);
  command
      .add_option_function<std::string>(
          "--special-tokens",
          [&arguments](const std::string& name) {
            arguments.encode.special_tokens = *special_token_policy(name);
          },
          "Special tokens in TEXT: accept, plain_text (like any text) or refuse")
      ->type_name("POLICY")
      ->check(policy_fault)
      ->excludes(decode);
  command
      .add_flag("--target-language", arguments.open.target_language,
                "Of Marian's and M2M100's: encode texts in the target language")
      ->excludes(decode);
  command
      .add_option_function<std::string>(
          "--pattern",
          [&arguments](const std::string& pattern) {
            if (!arguments.open.tik_token) arguments.open.tik_token.emplace();
            arguments.open.tik_token->pattern = pattern;
          },
          "How a TikToken file splits text (default: as its name says)")
      ->type_name("REGEX");
  command
      .add_option_function<std::string>(
          "--special-token",
          [&arguments](const std::string& token) { add_special_token(token, arguments.open); },
          "With --pattern: a special token and its id; may be repeated")
      ->type_name("TOKEN=ID")
      ->check(special_token_fault)
      ->trigger_on_parse()
      ->needs("--pattern");
}

}  // namespace

void declare_tokenize(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("tokenize", "Turn text into ids, or ids into text");
  const auto arguments = std::make_shared<TokenizeArguments>();
  command->add_option("PATH", arguments->path, "The tokenizer")->type_name("")->required();
  declare_texts(*command, "TEXT", arguments->texts, "Texts to encode, or ids to decode");
  declare_options(*command, *arguments);
  command->footer(kTokenizeExamples);
  command->callback([arguments, &action] {
    arguments->encode.offsets = arguments->json;
    action = [arguments](Output& output) { return tokenize(*arguments, output); };
  });
}

}  // namespace polystate::cli
