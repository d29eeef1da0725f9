// Times one tokenizer on one thread, and prints seconds as JSON:
//
//   bench_tokenizer PATH TEXT [PATTERN]
//
// "open"; "encode" and "decode", passes over the lines of the file TEXT; or, where TEXT is empty,
// "hostile": by name, passes over one and over two MiB of one thing over and over. A TikToken file
// takes a PATTERN.

#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/value_or_exit.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate::bench {
namespace {

constexpr int kPasses = 5;
constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::array<std::pair<const char*, std::string_view>, 7> kHostile = {{
    {"one letter", "a"},
    {"spaces", " "},
    {"line feeds", "\n"},
    {"unknown bytes", "\xFF"},
    {"accented letters", "\xC3\xA9"},
    {"combining marks", "\xCC\x81"},
    {"emoji", "\xF0\x9F\x98\x80"},
}};

template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// "name": [value, ...]
std::string field(const std::string& name, const std::vector<std::string>& values) {
  std::string text = '"' + name + "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + values[i];
  return text + "]";
}

std::string lines_json(const Tokenizer& tokenizer, const std::vector<std::string>& lines) {
  std::vector<std::string> encode;
  std::vector<std::string> decode;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<std::vector<TokenId>> all;
    encode.push_back(std::to_string(seconds([&] {
      for (const std::string& line : lines)
        all.push_back(value_or_exit(tokenizer.encode(line)).ids);
    })));
    decode.push_back(std::to_string(seconds([&] {
      for (const std::vector<TokenId>& ids : all) value_or_exit(tokenizer.decode(ids));
    })));
  }
  return field("encode", encode) + ", " + field("decode", decode);
}

std::string hostile_json(const Tokenizer& tokenizer) {
  std::string json;
  for (const auto& [name, part] : kHostile) {
    std::string text;
    while (text.size() < kMebibyte) text += part;
    const std::string twice = text + text;
    std::vector<std::string> passes;
    for (int pass = 0; pass < kPasses; ++pass) {
      const double one = seconds([&] { value_or_exit(tokenizer.encode(text)); });
      const double two = seconds([&] { value_or_exit(tokenizer.encode(twice)); });
      passes.push_back("[" + std::to_string(one) + ", " + std::to_string(two) + "]");
    }
    json += (json.empty() ? "" : ", ") + field(name, passes);
  }
  return "\"hostile\": {" + json + "}";
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 && arguments.size() != 3) {
    std::cerr << "usage: bench_tokenizer PATH TEXT [PATTERN]\n";
    return 2;
  }
  TokenizerOptions options;
  if (arguments.size() == 3) options.tik_token = TikTokenOptions{arguments[2], {}};
  std::shared_ptr<const Tokenizer> tokenizer;
  const double open =
      seconds([&] { tokenizer = value_or_exit(Tokenizer::open(arguments[0], options)); });
  const std::string& text = arguments[1];
  const std::string times =
      text.empty() ? hostile_json(*tokenizer) : lines_json(*tokenizer, lines_of(text));
  std::cout << "{\"open\": " << open << ", " << times << "}\n";
  return 0;
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) { return polystate::bench::run({argv + 1, argv + argc}); }
