#include <cstdio>
#include <string>

#include "polystate/tokenizer/tokenizer.h"

// Turns a text into ids and back.
int main() {
  const auto tokenizer = polystate::Tokenizer::parse(
      polystate::TokenizerFormat::kTokenizerJson,
      R"({"model": {"type": "WordLevel", "vocab": {"hello": 0, "world": 1}, "unk_token": "hello"},
          "pre_tokenizer": {"type": "Whitespace"}})");
  if (!tokenizer) {
    std::puts(tokenizer.error().message.c_str());
    return 1;
  }
  const auto encoding = (*tokenizer)->encode("hello world");
  const auto text = (*tokenizer)->decode(encoding->ids);
  std::puts(text->c_str());
  return *text == "hello world" ? 0 : 1;
}
