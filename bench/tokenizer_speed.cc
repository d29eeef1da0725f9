// Encodes and decodes the lines of the standard input with the tokenizer PATH on one thread, five
// times, and prints the best: MB of text a second, and the milliseconds that opening took.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Clock::time_point start = Clock::now();
  const auto tokenizer = polystate::Tokenizer::open(argv[1]);
  const double opening = seconds_since(start);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
    return 1;
  }
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (std::string line; std::getline(std::cin, line);) {
    bytes += line.size();
    lines.push_back(line);
  }
  double encode = 1e9;
  double decode = 1e9;
  for (int run = 0; run < 5; ++run) {
    std::vector<std::vector<polystate::TokenId>> all;
    const Clock::time_point encode_start = Clock::now();
    for (const std::string& line : lines) {
      auto encoding = (*tokenizer)->encode(line);
      if (!encoding) return 1;
      all.push_back(std::move(encoding->ids));
    }
    encode = std::min(encode, seconds_since(encode_start));
    const Clock::time_point decode_start = Clock::now();
    for (const auto& ids : all) {
      if (!(*tokenizer)->decode(ids)) return 1;
    }
    decode = std::min(decode, seconds_since(decode_start));
  }
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("{\"encode\": %.2f, \"decode\": %.2f, \"open_ms\": %.2f}\n", megabytes / encode,
              megabytes / decode, opening * 1e3);
  return 0;
}
