#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace polystate::tokenizer {

// A prefix tree of byte strings in one array: the child of node n by byte b is at base(n) ^ b (a
// double array, J. Aoe 1989; its check is the byte, as no two nodes share a base).
class Trie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = ~Node{0};
  static constexpr std::uint32_t kMaxValue = (std::uint32_t{1} << 23U) - 2;

  // The values are at most kMaxValue. Of equal strings the last one counts; empty ones are left
  // out.
  static Trie build(std::vector<std::pair<std::string_view, std::uint32_t>> entries);

  [[nodiscard]] Node child(Node node, char byte) const {
    const auto label = static_cast<unsigned char>(byte);
    const Node next = units_[node].base ^ label;
    return (units_[next].value_and_label & kLabelMask) == label ? next : kNone;
  }
  // The node of a string, or kNone.
  [[nodiscard]] Node walk(Node node, std::string_view bytes) const {
    for (std::size_t i = 0; i < bytes.size() && node != kNone; ++i) node = child(node, bytes[i]);
    return node;
  }
  // Whether a string ends at the node, and its value.
  [[nodiscard]] bool has_value(Node node) const {
    return (units_[node].value_and_label >> kLabelBits) != 0;
  }
  [[nodiscard]] std::uint32_t value(Node node) const {
    return (units_[node].value_and_label >> kLabelBits) - 1;
  }

 private:
  static constexpr std::uint32_t kLabelBits = 9;
  static constexpr std::uint32_t kLabelMask = (1U << kLabelBits) - 1;
  static constexpr std::uint32_t kFree = kLabelMask;  // the label of no byte

  struct Unit {
    Node base = 0;
    std::uint32_t value_and_label = kFree;  // (value + 1) << kLabelBits | label
  };
  struct Builder;

  std::vector<Unit> units_ = std::vector<Unit>(256);
};

}  // namespace polystate::tokenizer
