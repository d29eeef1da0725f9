#include "grammar/byte_tokenizer.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

namespace polystate {

std::string byte_tokenizer_json() {
  std::string vocabulary = R"("</s>": 0)";
  for (int byte = 0; byte < 256; ++byte) {
    std::array<char, 24> entry{};
    std::snprintf(entry.data(), entry.size(), R"(, "<0x%02X>": %d)", byte, 1 + byte);
    vocabulary += entry.data();
  }
  for (std::size_t i = 0; i < kByteWords.size(); ++i) {
    const bool is_escaped = kByteWords[i].front() == '\\';
    vocabulary += R"(, ")" + std::string(is_escaped ? R"(\\\")" : kByteWords[i]) + R"(": )" +
                  std::to_string(257 + i);
  }
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [
      {"id": 0, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null,
    "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
    "model": {"type": "BPE", "byte_fallback": true, "merges": [], "vocab": {)" +
         vocabulary + "}}}";
}

}  // namespace polystate
