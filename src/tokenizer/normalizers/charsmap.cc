#include "tokenizer/normalizers/charsmap.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate::tokenizer {
namespace {

// A unit of a darts-clone double array.
constexpr bool has_leaf(std::uint32_t unit) { return (unit >> 8U & 1U) != 0; }
constexpr std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
constexpr std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
constexpr std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10U) << ((unit & 0x200U) >> 6U);
}

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i)
    value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

Error damaged(const std::string& why) {
  return {ErrorCode::kArtifact, "precompiled_charsmap: " + why};
}

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view blob) {
  if (blob.size() < 4) return damaged("it has " + std::to_string(blob.size()) + " bytes");
  const std::uint32_t size = read_u32(blob);
  blob.remove_prefix(4);
  if (size > blob.size() || size % 4 != 0 || size == 0) {
    return damaged("its table has " + std::to_string(size) + " bytes, of " +
                   std::to_string(blob.size()));
  }
  Charsmap map;
  map.units_.reserve(size / 4);
  for (std::size_t i = 0; i < size; i += 4) map.units_.push_back(read_u32(blob.substr(i)));
  map.replacements_ = blob.substr(size);
  if (!is_utf8(map.replacements_)) return damaged("its replacements are not valid UTF-8");
  for (unsigned c = 1; c < map.keeps_ascii_.size(); ++c) {
    bool keeps = true;
    std::string text(1, static_cast<char>(c));
    map.search(text, [&](std::size_t, std::uint32_t) { keeps = false; });
    for (unsigned next = 1; keeps && next < 128; ++next) {
      text = {static_cast<char>(c), static_cast<char>(next)};
      map.search(text, [&](std::size_t, std::uint32_t) { keeps = false; });
    }
    map.keeps_ascii_[c] = keeps;
  }
  return map;
}

// Calls found(size, value) for every string that `text` starts with, the shortest first.
template <typename Found>
void Charsmap::search(std::string_view text, Found&& found) const {
  std::uint32_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto label = static_cast<unsigned char>(text[i]);
    if (label == 0) return;
    node ^= label;
    if (node >= units_.size() || label_of(units_[node]) != label) return;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (node >= units_.size()) return;
    if (has_leaf(unit)) found(i + 1, value_of(units_[node]));
  }
}

std::string_view Charsmap::replacement_at(std::uint32_t value) const {
  const std::string_view all = replacements_;
  if (value >= all.size() || !starts_character(all[value])) return {};
  const std::string_view rest = all.substr(value);
  return rest.substr(0, rest.find('\0'));
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text) const {
  std::optional<Match> longest;
  search(text,
         [&](std::size_t size, std::uint32_t value) { longest = {size, replacement_at(value)}; });
  return longest;
}

std::optional<Charsmap::Match> Charsmap::shortest(std::string_view text) const {
  std::optional<Match> shortest;
  search(text, [&](std::size_t size, std::uint32_t value) {
    if (!shortest) shortest = {size, replacement_at(value)};
  });
  return shortest;
}

}  // namespace polystate::tokenizer
