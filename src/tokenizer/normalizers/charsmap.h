#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

// SentencePiece's "precompiled_charsmap": strings and what each is replaced by. It is a size in
// bytes (32 bits, little-endian), that many bytes of a double array in the format of darts-clone,
// and the replacements, each ended by a zero byte (SentencePiece, normalizer.cc).
class Charsmap {
 public:
  // kArtifact when it is damaged. Replacements must be valid UTF-8.
  static Result<Charsmap> parse(std::string_view blob);

  struct Match {
    std::size_t size;              // of the string, in bytes
    std::string_view replacement;  // may be empty
  };
  // The longest, and the shortest, string that `text` starts with.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const;
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const;

  // Whether no string starts with this ASCII character, followed by nothing or by another one.
  [[nodiscard]] bool keeps_ascii(char c) const {
    return keeps_ascii_[static_cast<unsigned char>(c) & 0x7FU];
  }

 private:
  Charsmap() = default;
  template <typename Found>
  void search(std::string_view text, Found&& found) const;
  [[nodiscard]] std::string_view replacement_at(std::uint32_t value) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> keeps_ascii_{};
};

}  // namespace polystate::tokenizer
