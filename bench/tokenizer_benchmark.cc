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
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchmark_main.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate::bench {
namespace {

using nlohmann::json;

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

json time_lines(const Tokenizer& tokenizer, const std::vector<std::string>& lines) {
  json encode = json::array();
  json decode = json::array();
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<std::vector<TokenId>> all;
    encode.push_back(seconds([&] {
      for (const std::string& line : lines)
        all.push_back(value_or_exit(tokenizer.encode(line)).ids);
    }));
    decode.push_back(seconds([&] {
      for (const std::vector<TokenId>& ids : all) value_or_exit(tokenizer.decode(ids));
    }));
  }
  return {{"encode", encode}, {"decode", decode}};
}

json time_hostile(const Tokenizer& tokenizer) {
  json times;
  for (const auto& [name, part] : kHostile) {
    std::string text;
    while (text.size() < kMebibyte) text += part;
    const std::string twice = text + text;
    json& found = times[name] = json::array();
    for (int pass = 0; pass < kPasses; ++pass) {
      found.push_back({seconds([&] { value_or_exit(tokenizer.encode(text)); }),
                       seconds([&] { value_or_exit(tokenizer.encode(twice)); })});
    }
  }
  return {{"hostile", times}};
}

int run(const std::vector<std::string>& arguments) {
  TokenizerOptions options;
  if (arguments.size() == 3) options.tik_token = TikTokenOptions{arguments[2], {}};
  std::shared_ptr<const Tokenizer> tokenizer;
  const double open =
      seconds([&] { tokenizer = value_or_exit(Tokenizer::open(arguments[0], options)); });
  const std::string& text = arguments[1];
  json times = text.empty() ? time_hostile(*tokenizer) : time_lines(*tokenizer, lines_of(text));
  times["open"] = open;
  std::cout << times << '\n';
  return 0;
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: bench_tokenizer PATH TEXT [PATTERN]\n";
    return 2;
  }
  return polystate::bench::run({argv + 1, argv + argc});
}
