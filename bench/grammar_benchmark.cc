// Times constrained output over one tokenizer's vocabulary, and prints seconds as JSON:
//
//   bench_grammar PATH
//
// "vocabulary": its size; "prepare": until formats can be compiled. For each format by name,
// "compile": the first time; "again": once it is kept; "masks": for each token of an answer, what
// the scores take that it is chosen by; "advances": for each, until the next one may be chosen.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/value_or_exit.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate::bench {
namespace {

using Json = nlohmann::json;

// A format, and an answer that it allows.
struct Constrained {
  std::string_view name;
  std::string_view format;
  std::string_view answer;
};

constexpr std::string_view kPerson =
    R"({"name": "Amélie Poulain", "age": 23, "email": "amelie@example.org", "address": {"street": )"
    R"("Rue Lepic 15", "city": "Paris", "postcode": "75018"}, "languages": ["French", "English"], )"
    R"("married": false, "note": "She works in a café, and likes to skip stones on the canal."})";

constexpr std::array<Constrained, 4> kFormats = {{
    {"json_object", R"({"type": "json_object"})", kPerson},
    {"json_schema", R"({"type": "json_schema", "schema": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "age": {"type": "integer", "minimum": 0, "maximum": 150},
          "email": {"type": "string"},
          "address": {
            "type": "object",
            "properties": {
              "street": {"type": "string"},
              "city": {"type": "string"},
              "postcode": {"type": "string", "pattern": "^[0-9]{5}$"}
            },
            "required": ["street", "city", "postcode"],
            "additionalProperties": false
          },
          "languages": {"type": "array", "items": {"type": "string"}},
          "married": {"type": "boolean"},
          "note": {"type": "string"}
        },
        "required": ["name", "age", "email", "address", "languages", "married", "note"],
        "additionalProperties": false}})",
     kPerson},
    {"regex", R"({"type": "regex", "pattern": "([A-Z][a-z]+ ){3,12}[0-9]{4}-[0-9]{2}-[0-9]{2}"})",
     "Paris Lyon Marseille Toulouse Nice Nantes 2026-11-26"},
    {"gbnf",
     R"({"type": "grammar", "grammar": "root ::= term (\" \" [-+*/] \" \" term)*\n)"
     R"(term ::= [0-9]+ | \"(\" root \")\""})",
     "(12 + 345) * 6 - (7 / (8 + 9)) + 1024"},
}};

template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status forbidden(TokenId token) {
  return Error{ErrorCode::kContract, "the answer's token " + std::to_string(token) +
                                         " is forbidden: what follows would not be masks"};
}

// What each token of an answer takes.
struct TokenSeconds {
  std::vector<double> masks;
  std::vector<double> advances;
};

TokenSeconds token_seconds(const LogitsProcessor& processor, const std::vector<TokenId>& answer,
                           std::size_t vocabulary) {
  TokenContext context{.tokens = {}, .prompt_length = 0, .source = {}};
  const std::unique_ptr<RowState> state = value_or_exit(processor.start(context));
  context.state = state.get();
  std::vector<float> scores(vocabulary);
  TokenSeconds found;
  for (const TokenId token : answer) {
    std::ranges::fill(scores, 0.0F);
    found.masks.push_back(seconds([&] { done_or_exit(processor.process(context, scores)); }));
    if (std::isinf(scores[token])) done_or_exit(forbidden(token));
    found.advances.push_back(seconds([&] { done_or_exit(state->advance(token)); }));
  }
  return found;
}

Json measured(const GrammarCompiler& compiler, const Tokenizer& tokenizer,
              const Constrained& constrained) {
  const ResponseFormat format = value_or_exit(ResponseFormat::parse(constrained.format));
  const std::vector<TokenId> answer =
      value_or_exit(tokenizer.encode(constrained.answer, {.add_special_tokens = false})).ids;
  // A token that does not occur in the answer ends it.
  TokenId end = 0;
  while (std::ranges::find(answer, end) != answer.end()) ++end;
  const ConstrainedText text{.ends = {end}, .is_whole = true};
  std::shared_ptr<const LogitsProcessor> processor;
  const auto compile = [&] { processor = value_or_exit(compiler.compile(format, text)); };
  Json found;
  found["compile"] = seconds(compile);
  found["again"] = seconds(compile);
  const TokenSeconds of_tokens = token_seconds(*processor, answer, tokenizer.vocabulary_size());
  found["masks"] = of_tokens.masks;
  found["advances"] = of_tokens.advances;
  return found;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    std::cerr << "usage: bench_grammar PATH\n";
    return 2;
  }
  const auto tokenizer = value_or_exit(Tokenizer::open(arguments[0]));
  std::shared_ptr<const GrammarCompiler> compiler;
  Json found;
  found["prepare"] =
      seconds([&] { compiler = value_or_exit(GrammarCompiler::create(*tokenizer)); });
  found["vocabulary"] = tokenizer->vocabulary_size();
  for (const Constrained& each : kFormats)
    found["formats"][each.name] = measured(*compiler, *tokenizer, each);
  std::cout << found << '\n';
  return 0;
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  try {
    return polystate::bench::run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::exception& error) {  // nlohmann's
    std::fprintf(stderr, "bench_grammar: %s\n", error.what());
    return 1;
  }
}
