#include "pipeline/call_grammar.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/argument_format.h"
#include "pipeline/tag_format.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"
#include "response/forms.h"

namespace polystate {
namespace {

using OrderedJson = nlohmann::ordered_json;
using response::WrittenCall;
using tag_format::literal;
using tag_format::one_of;
using tag_format::optional;
using tag_format::regex;
using tag_format::sequence;
using tag_format::text_without;

// Ids of calls are as the strictest templates want them.
constexpr std::string_view kId = "[a-zA-Z0-9]{9}";
constexpr std::string_view kIndex = "[0-9]{1,2}";

std::string optional_literal(std::string_view text) {
  return text.empty() ? std::string() : literal(text);
}

// A tool that may be called, and its arguments' format.
struct Callable {
  std::string name;
  std::string arguments;
};

// One call of a tool: what is written, with its parts in place of their names.
std::string call_of(const Callable& tool, std::string_view written) {
  std::vector<std::string> parts;
  std::string text;
  const auto take_part = [&](std::string part) {
    if (!text.empty()) parts.push_back(literal(std::exchange(text, {})));
    parts.push_back(std::move(part));
  };
  for (std::string_view rest = written; !rest.empty();) {
    std::size_t taken = 1;
    if (rest.starts_with("{name}")) {
      text += tool.name;
      taken = 6;
    } else if (rest.starts_with("{arguments}")) {
      take_part(tool.arguments);
      taken = 11;
    } else if (rest.starts_with("{id}")) {
      take_part(regex(kId));
      taken = 4;
    } else if (rest.starts_with("{index}")) {
      take_part(regex(kIndex));
      taken = 7;
    } else {
      text += rest.front();
    }
    rest.remove_prefix(taken);
  }
  take_part({});
  return sequence(parts);
}

Result<std::vector<Callable>> callables_of(const WantedCalls& wanted) {
  const Result<std::string> text = wanted.tools.to_json();
  if (!text) return text.error();
  const OrderedJson tools = OrderedJson::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (tools.is_discarded())
    return Error{ErrorCode::kContract, "the tools have a number that JSON has not"};
  const bool is_named = wanted.choice != "required" && wanted.choice != "auto";
  std::vector<Callable> callables;
  for (const OrderedJson& tool : tools) {
    const OrderedJson& function = tool["function"];
    if (is_named && function["name"] != wanted.choice) continue;
    std::string name = function["name"].get<std::string>();
    Result<std::string> arguments = argument_format(function.dump(), wanted.form.written);
    if (!arguments) {
      return Error{arguments.error().code, "the tool '" + name + "': " + arguments.error().message};
    }
    callables.push_back({std::move(name), *std::move(arguments)});
  }
  return callables;
}

// A call of one of some tools, as `written`.
std::string any_call(const std::vector<Callable>& callables, std::string_view written) {
  std::vector<std::string> calls;
  calls.reserve(callables.size());
  for (const Callable& each : callables) calls.push_back(call_of(each, written));
  return one_of(calls);
}

// Calls from where `skipped` bytes of the first one, and what is before it, are written.
std::string calls_from(const std::vector<Callable>& callables, const WrittenCall& written,
                       std::size_t skipped, bool is_single) {
  const std::size_t of_before = std::min(skipped, written.before.size());
  std::string others;
  if (!is_single) {
    const std::string next =
        sequence({optional_literal(written.between), any_call(callables, written.call)});
    others = tag_format::repeated(next, 0, -1);
  }
  return sequence({optional_literal(written.before.substr(of_before)),
                   any_call(callables, written.call.substr(skipped - of_before)), others,
                   optional_literal(written.after)});
}

// Thoughts before a call that has to come.
std::string thoughts_of(const WantedCalls& wanted) {
  if (wanted.thoughts == nullptr) return {};
  const std::string_view close = wanted.thoughts->close;
  const std::string whole =
      sequence({wanted.has_begun_thoughts ? "" : literal(wanted.thoughts->open),
                text_without({close}), literal(close), optional(literal("\n\n"))});
  return wanted.has_begun_thoughts ? whole : optional(whole);
}

// Whether nothing may follow calls of a form, since they go on up to the end.
bool ends_answer(const response::CallForm& form) {
  return form.close.empty() || form.close.starts_with("(?=");
}

// Any text, with what has to follow some texts. Thoughts may be left open.
std::string free_text(const WantedCalls& wanted, const std::vector<Callable>& callables) {
  const WrittenCall& written = wanted.form.written;
  const std::size_t begin = std::string(written.before).append(written.call).find(written.begin);
  const std::string calls =
      calls_from(callables, written, begin + written.begin.size(), written.is_single);
  const bool is_last = ends_answer(wanted.form);
  std::vector<tag_format::Rule> rules;
  if (!is_last) rules.push_back({written.begin, calls});
  if (wanted.thoughts != nullptr) {
    const std::string_view close = wanted.thoughts->close;
    rules.push_back(
        {wanted.thoughts->open, sequence({text_without({close}), optional(literal(close))})});
  }
  std::string text = tag_format::free_text(rules, {});
  if (is_last) {
    text = sequence({tag_format::free_text(rules, {written.begin}),
                     optional(sequence({literal(written.begin), calls}))});
  }
  if (wanted.thoughts == nullptr || !wanted.has_begun_thoughts) return text;
  const std::string_view close = wanted.thoughts->close;
  return sequence({text_without({close}), optional(sequence({literal(close), text}))});
}

}  // namespace

Result<ResponseFormat> call_format(const WantedCalls& wanted) {
  const WrittenCall& written = wanted.form.written;
  const bool is_free = wanted.choice == "auto";
  if (is_free && written.begin.empty()) {
    return Error{ErrorCode::kContract, "calls as the chat template writes them ('" +
                                           std::string(wanted.form.name) +
                                           "') have no beginning of their own"};
  }
  const Result<std::vector<Callable>> callables = callables_of(wanted);
  if (!callables) return callables.error();
  const bool is_single = written.is_single || wanted.choice != "required";
  const std::string format =
      is_free ? free_text(wanted, *callables)
              : sequence({thoughts_of(wanted), calls_from(*callables, written, 0, is_single)});
  return ResponseFormat{ResponseFormat::Kind::kStructuralTag, tag_format::structural_tag(format)};
}

}  // namespace polystate
