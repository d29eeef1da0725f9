// Writes the sample files of the tests as inputs of the fuzzers:  write_corpus FOLDER TEMPLATES
//
// TEMPLATES: the folder of the tests' chat templates.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/tokenizer/options.h"
#include "response/forms.h"
#include "take_part.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/sample_files.h"

namespace {

using polystate::SampleFile;
using polystate::TokenizerFormat;

std::string fuzzer_of(TokenizerFormat format) {
  switch (format) {
    case TokenizerFormat::kTokenizerJson:
      return "tokenizer_json";
    case TokenizerFormat::kSentencePiece:
      return "sentence_piece";
    case TokenizerFormat::kTikToken:
      return "tik_token";
  }
  return "";
}

// fuzz_tik_token takes the regular expression as its first line.
std::string input_of(const SampleFile& file) {
  if (!file.options.tik_token) return file.content;
  return file.options.tik_token->pattern + "\n" + file.content;
}

// fuzz_marian and fuzz_m2m100 take four files with dividers between them.
std::string joined(std::initializer_list<std::string> files) {
  std::string input;
  for (const std::string& file : files) input.append(file).append(polystate::kDivider);
  return input;
}

// fuzz_chat_template takes a template and, behind a divider, its variables.
std::string template_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  return joined({source, R"({"messages": [{"role": "user", "content": "Hi"}], "tools": null})"});
}

// fuzz_response takes the name of a form or a response_template, the prompt, and an answer.
std::string call_input(const polystate::response::CallForm& form) {
  std::string answer = "<think>Hm.</think>Well: " + std::string(form.written.before) +
                       std::string(form.written.call) + std::string(form.written.after) + " So.";
  const bool has_tags = !form.tag_pattern.empty();
  for (const auto& [part, text] :
       {std::pair("{name}", "f"), std::pair("{id}", "abcdefgh1"), std::pair("{index}", "0"),
        std::pair("{arguments}", has_tags ? "<parameter=a>b</parameter>" : R"({"a": 1})")}) {
    const std::size_t at = answer.find(part);
    if (at != std::string::npos) answer.replace(at, std::string_view(part).size(), text);
  }
  return joined({std::string(form.name), "", answer});
}

constexpr std::string_view kResponseTemplate = R"({
  "defaults": {"role": "assistant"}, "start_anchor_pattern": "<(?:model|m)>",
  "fields": {
    "thinking": {"open": "<think>", "close": "</think>", "content": "text"},
    "lines": {"open": "<kv>", "close": "</kv>", "content": "kv-lines", "repeats": true},
    "tool_calls": {"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
      "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>\\w+)=(?P<value>.*?)/>"},
      "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}},
    "content": {"close": "<end>"}}})";
constexpr std::string_view kAnswer =
    "Hm.</think>Yes <kv>a: 1\nb: c</kv><call f><a=1/><b=c/></call> so.<end>";

std::string input_of(const polystate::tokenizer::MarianFiles& files) {
  return joined({files.encoder, files.decoder, files.vocabulary, files.config});
}

std::string input_of(const polystate::tokenizer::M2M100Files& files) {
  return joined({files.model, files.vocabulary, files.config, files.special_tokens});
}

void write(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 3) return 2;
  const std::filesystem::path corpus = argv[1];
  for (const SampleFile& file : polystate::sample_files()) {
    write(corpus / fuzzer_of(file.format) / file.name, input_of(file));
    if (file.format == TokenizerFormat::kSentencePiece)
      write(corpus / "marian" / file.name, input_of(polystate::sample_marian_files(file.name)));
  }
  for (const auto& file : std::filesystem::directory_iterator(argv[2]))
    write(corpus / "chat_template" / file.path().filename(), template_input(file.path()));
  for (const auto& form : polystate::response::call_forms())
    write(corpus / "response" / form.name, call_input(form));
  write(corpus / "response" / "template",
        joined({std::string(kResponseTemplate), "<model><think>", std::string(kAnswer)}));
  write(corpus / "m2m100" / "M2M100", input_of(polystate::sample_m2m100_files()));
  return 0;
}
