#include "cli/generate/response_formats.h"

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/generate/lines.h"
#include "cli/text.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"

namespace polystate::cli {
namespace {

using Kind = ResponseFormat::Kind;

Result<std::optional<ResponseFormat>> of_file(Kind kind, const std::string& file) {
  Result<std::string> text = whole_text(file);
  if (!text) return text.error();
  return std::optional(ResponseFormat{kind, *std::move(text)});
}

}  // namespace

void declare_response_format(CLI::App& command, ResponseFormatArguments& arguments) {
  auto* const schema = command
                           .add_option("--json-schema", arguments.json_schema,
                                       "Print JSON alone that the schema in a file finds valid")
                           ->type_name("FILE")
                           ->check(empty_fault);
  auto* const regex =
      command.add_option("--regex", arguments.regex, "Print texts alone that match an expression")
          ->type_name("EXPRESSION")
          ->check(utf8_fault)
          ->excludes(schema);
  auto* const grammar =
      command
          .add_option("--grammar", arguments.grammar,
                      "Print texts alone of a grammar: GBNF, or Lark in a file NAME.lark")
          ->type_name("FILE")
          ->check(empty_fault)
          ->excludes(schema, regex);
  command
      .add_option("--choice", arguments.choices, "Print one of some texts: give it several times")
      ->type_name("TEXT")
      ->check(utf8_fault)
      ->allow_extra_args(false)
      ->excludes(schema, regex, grammar);
}

Result<std::optional<ResponseFormat>> response_format(const ResponseFormatArguments& arguments) {
  if (!arguments.json_schema.empty()) return of_file(Kind::kJsonSchema, arguments.json_schema);
  if (!arguments.grammar.empty()) {
    const bool is_lark = arguments.grammar.ends_with(".lark");
    return of_file(is_lark ? Kind::kLark : Kind::kGbnf, arguments.grammar);
  }
  if (arguments.regex) return std::optional(ResponseFormat{Kind::kRegex, *arguments.regex});
  if (!arguments.choices.empty())
    return std::optional(ResponseFormat{Kind::kChoice, {}, arguments.choices});
  return std::optional<ResponseFormat>();
}

}  // namespace polystate::cli
