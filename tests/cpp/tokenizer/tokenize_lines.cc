// Encodes and decodes lines for the differential tests in Python, many a process:
//
//   tokenize_lines PATH [--pattern EXPRESSION] [--special TOKEN=ID]... [--target]
//
// Each line of the standard input is a JSON object: {"text": ..., "pair": ...} or {"ids": [...]},
// with the names of EncodeOptions and DecodeOptions, or "stream" to decode token by token. The
// answer to each is a line with the encoding (offsets one after the other), {"text": ...} or
// {"error": ...}.

#include <cstddef>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace {

using nlohmann::json;
using polystate::DecodeOptions;
using polystate::EncodeOptions;
using polystate::Encoding;
using polystate::Error;
using polystate::Result;
using polystate::SpecialTokenPolicy;
using polystate::TokenId;
using polystate::Tokenizer;

json to_json(const Error& error) {
  return {{"error", error.message}, {"code", static_cast<int>(error.code)}};
}

json to_json(const Encoding& encoding) {
  json offsets = json::array();
  for (const auto& range : encoding.offsets) {
    offsets.push_back(range.begin);
    offsets.push_back(range.end);
  }
  json overflowing = json::array();
  for (const Encoding& part : encoding.overflowing) overflowing.push_back(to_json(part));
  return {{"ids", encoding.ids},
          {"offsets", offsets},
          {"type_ids", encoding.type_ids},
          {"special_tokens_mask", encoding.special_tokens_mask},
          {"attention_mask", encoding.attention_mask},
          {"overflowing", overflowing}};
}

EncodeOptions encode_options(const json& line) {
  static const std::map<std::string, SpecialTokenPolicy> kPolicies = {
      {"accept", SpecialTokenPolicy::kAccept},
      {"plain_text", SpecialTokenPolicy::kPlainText},
      {"refuse", SpecialTokenPolicy::kRefuse}};
  EncodeOptions options;
  options.add_special_tokens = line.value("add_special_tokens", true);
  options.offsets = line.value("offsets", false);
  options.special_tokens = kPolicies.at(line.value("special_tokens", "accept"));
  options.threads = line.value("threads", 1);
  return options;
}

json encode(const Tokenizer& tokenizer, const json& line) {
  const EncodeOptions options = encode_options(line);
  if (line.contains("batch")) {
    const auto texts = line["batch"].get<std::vector<std::string>>();
    const std::vector<polystate::EncodeInput> views(texts.begin(), texts.end());
    const auto encodings = tokenizer.encode_batch(views, options);
    if (!encodings) return to_json(encodings.error());
    json all = json::array();
    for (const Encoding& encoding : *encodings) all.push_back(to_json(encoding));
    return all;
  }
  const auto text = line["text"].get<std::string>();
  const auto pair = line.value("pair", std::string());
  const Result<Encoding> encoding = line.contains("pair") ? tokenizer.encode({text, pair}, options)
                                                          : tokenizer.encode(text, options);
  return encoding ? to_json(*encoding) : to_json(encoding.error());
}

json decode(const Tokenizer& tokenizer, const json& line) {
  DecodeOptions options;
  options.skip_special_tokens = line.value("skip_special_tokens", true);
  const auto ids = line["ids"].get<std::vector<TokenId>>();
  if (!line.value("stream", false)) {
    const Result<std::string> text = tokenizer.decode(ids, options);
    return text ? json{{"text", *text}} : to_json(text.error());
  }
  json parts = json::array();
  const auto stream = tokenizer.decode_stream(options);
  for (const TokenId id : ids) {
    const Result<std::string> part = stream->push(id);
    if (!part) return to_json(part.error());
    parts.push_back(*part);
  }
  const Result<std::string> part = stream->finish();
  if (!part) return to_json(part.error());
  parts.push_back(*part);
  return {{"parts", parts}};
}

// What follows PATH on the command line.
polystate::TokenizerOptions tokenizer_options(const std::vector<std::string>& arguments) {
  polystate::TokenizerOptions options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--target") {
      options.target_language = true;
      continue;
    }
    if (!options.tik_token) options.tik_token.emplace();
    const std::string& value = arguments.at(i + 1);
    if (arguments[i++] == "--pattern") {
      options.tik_token->pattern = value;
    } else {
      const std::size_t equal = value.rfind('=');
      options.tik_token->special_tokens[value.substr(0, equal)] =
          static_cast<TokenId>(std::stoul(value.substr(equal + 1)));
    }
  }
  return options;
}

void answer_lines(const std::vector<std::string>& arguments) {
  const auto tokenizer = Tokenizer::open(arguments.at(0), tokenizer_options(arguments));
  if (!tokenizer) {
    std::cout << to_json(tokenizer.error()) << '\n';
    return;
  }
  std::cout << json{{"size", (*tokenizer)->vocabulary_size()},
                    {"warnings", (*tokenizer)->warnings()}}
            << '\n';
  for (std::string text; std::getline(std::cin, text);) {
    const json line = json::parse(text);
    std::cout << (line.contains("ids") ? decode(**tokenizer, line) : encode(**tokenizer, line))
              << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    answer_lines({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "tokenize_lines: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
