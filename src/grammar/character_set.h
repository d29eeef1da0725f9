#pragma once

#include <initializer_list>
#include <vector>

namespace polystate::grammar {

// A set of Unicode's characters. Surrogates are none: texts in UTF-8 have none.
class CharacterSet {
 public:
  // From one character up to another, both of which are in it.
  struct Range {
    char32_t first;
    char32_t last;

    bool operator==(const Range&) const = default;
  };
  static constexpr char32_t kLast = 0x10FFFF;

  CharacterSet() = default;
  CharacterSet(std::initializer_list<Range> ranges);
  explicit CharacterSet(std::vector<Range> ranges);

  static CharacterSet all();
  static CharacterSet one(char32_t character);

  // All characters that are not in it.
  [[nodiscard]] CharacterSet others() const;
  [[nodiscard]] CharacterSet without(const CharacterSet& removed) const;

  [[nodiscard]] bool contains(char32_t character) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  // In their order; none touches another.
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

  bool operator==(const CharacterSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace polystate::grammar
