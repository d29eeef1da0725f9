#include "pipeline/character_tokenizer.h"

#include <initializer_list>
#include <memory>
#include <string>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

std::shared_ptr<const Tokenizer> character_tokenizer(std::initializer_list<const char*> special) {
  std::string vocabulary = R"("\n": 0, "｜": 96, "▁": 97)";
  for (char c = ' '; c <= '~'; ++c) {
    const std::string text = c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    vocabulary += ", \"" + text + "\": " + std::to_string(token_of(c));
  }
  std::string added;
  TokenId id = kFirstSpecial;
  for (const char* const token : special) {
    added += (added.empty() ? "" : ", ") + std::string(R"({"id": )") + std::to_string(id++) +
             R"(, "content": ")" + token +
             R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, )"
             R"("special": true})";
  }
  return Tokenizer::parse(TokenizerFormat::kTokenizerJson,
                          R"({"version": "1.0", "truncation": null, "padding": null, )"
                          R"("normalizer": null, "pre_tokenizer": null, "post_processor": null, )"
                          R"("decoder": {"type": "Fuse"}, "added_tokens": [)" +
                              added + R"(], "model": {"type": "BPE", "merges": [], "vocab": {)" +
                              vocabulary + "}}}")
      .value();
}

}  // namespace polystate
