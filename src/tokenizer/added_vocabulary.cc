#include "tokenizer/added_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/plain_ranges.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

Result<std::string> normalized_content(const AddedToken& token, const Normalizer* normalizer) {
  if (!token.normalized || normalizer == nullptr) return token.content;
  AlignedText text;
  text.text = token.content;
  if (const Status done = normalizer->normalize(text); !done) return done.error();
  return std::move(text.text);
}

std::uint32_t trim_left_space(std::string_view text, std::uint32_t begin, std::uint32_t least) {
  while (begin > least) {
    const std::size_t previous = previous_character(text, begin);
    if (!is_white_space(character_at(text, previous).code_point)) break;
    begin = static_cast<std::uint32_t>(previous);
  }
  return std::max(begin, least);
}

std::uint32_t trim_right_space(std::string_view text, std::uint32_t end) {
  while (end < text.size()) {
    const Utf8Character character = character_at(text, end);
    if (!is_white_space(character.code_point)) break;
    end += character.size;
  }
  return end;
}

}  // namespace

Result<AddedVocabulary> AddedVocabulary::create(const std::vector<AddedToken>& tokens,
                                                const Model& model, const Normalizer* normalizer) {
  AddedVocabulary added;
  auto next_id = static_cast<TokenId>(model.size());
  std::set<std::string_view> special;
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    std::optional<TokenId> id = token.id;
    if (!id) id = added.token_to_id(token.content);
    if (!id) id = model.vocabulary().find(token.content);
    if (!id) id = next_id++;
    Result<std::string> decoded = normalized_content(token, normalizer);
    if (!decoded) return decoded.error();
    added.names_[token.content] = {*id, *decoded};
    added.entries_[*id] = {token, std::move(*decoded), false};
    if (token.special) special.insert(token.content);
    if (!token.single_word || added.word_) continue;
    Result<Regex> word = Regex::compile(R"(\A\w)", RegexSyntax::kFancyRegex);
    if (!word) return word.error();
    added.word_ = std::move(*word);
  }
  for (auto& [id, entry] : added.entries_) entry.special = special.contains(entry.decoded);
  added.plain_ = added.build_matcher(false);
  added.normalized_ = added.build_matcher(true);
  return added;
}

AddedVocabulary::Matcher AddedVocabulary::build_matcher(bool normalized) const {
  Matcher matcher;
  std::vector<const Name*> wanted;
  for (const auto& [content, name] : names_) {
    const bool looked_for = entries_.at(name.id).token.normalized == normalized;
    if (looked_for && !name.text.empty()) wanted.push_back(&name);
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Name* a, const Name* b) { return a->id < b->id; });
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  // Of tokens that normalize to one text the first is found: `build` takes the last of equals.
  for (const Name* name : wanted) {
    entries.emplace_back(name->text, static_cast<std::uint32_t>(matcher.ids.size()));
    matcher.ids.push_back(name->id);
    matcher.first[static_cast<unsigned char>(name->text[0])] = true;
  }
  std::ranges::reverse(entries);
  matcher.trie = Trie::build(std::move(entries));
  return matcher;
}

bool AddedVocabulary::is_single_word(std::string_view text, TextRange range) const {
  const auto is_word = [&](std::string_view rest) {
    std::vector<TextRange> matches;
    return word_->find(rest.substr(0, character_size(rest[0])), matches) && !matches.empty();
  };
  if (range.begin > 0 && is_word(text.substr(previous_character(text, range.begin)))) return false;
  return range.end == text.size() || !is_word(text.substr(range.end));
}

// The longest token that starts at `begin`, its own text alone.
std::optional<AddedVocabulary::Match> AddedVocabulary::longest_at(const Matcher& matcher,
                                                                  std::string_view text,
                                                                  std::uint32_t begin) {
  if (!matcher.first[static_cast<unsigned char>(text[begin])]) return std::nullopt;
  std::optional<Match> longest;
  Trie::Node node = Trie::kRoot;
  for (std::uint32_t end = begin; end < text.size();) {
    node = matcher.trie.child(node, text[end++]);
    if (node == Trie::kNone) break;
    if (matcher.trie.has_value(node))
      longest = {{begin, end}, matcher.ids[matcher.trie.value(node)]};
  }
  return longest;
}

PlainRanges::Overlap AddedVocabulary::skipped_part(const Match& match,
                                                   const Skipped& skipped) const {
  if (skipped.special && entries_.at(match.id).token.special) return PlainRanges::Overlap::kAll;
  if (skipped.alignment.empty() || !skipped.plain.concerns(match.id))
    return PlainRanges::Overlap::kNone;
  return skipped.plain.overlap(
      skipped.alignment.subspan(match.range.begin, match.range.end - match.range.begin));
}

void AddedVocabulary::find(std::string_view text, bool normalized, const Skipped& skipped,
                           std::vector<Match>& matches) const {
  const Matcher& wanted = matcher(normalized);
  if (wanted.ids.empty()) return;
  std::uint32_t taken = 0;      // where the last match ends
  std::uint32_t space_end = 0;  // where the last white space ends that was behind a token
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    auto match = longest_at(wanted, text, i);
    if (!match) continue;
    const TextRange range = match->range;
    i = range.end - 1;
    const AddedToken& token = entries_.at(match->id).token;
    const PlainRanges::Overlap part = skipped_part(*match, skipped);
    // Another token may begin in the part that is not plain.
    if (part == PlainRanges::Overlap::kSome) i = range.begin;
    if (part != PlainRanges::Overlap::kNone) continue;
    if (token.single_word && !is_single_word(text, range)) continue;
    // The match before may have taken all of this one, as white space.
    if (token.lstrip) match->range.begin = trim_left_space(text, range.begin, taken);
    if (token.rstrip) {
      // A token may be white space itself, in the white space behind the one before.
      if (range.end > space_end) space_end = trim_right_space(text, range.end);
      match->range.end = space_end;
    }
    if (match->range.begin >= match->range.end) continue;
    matches.push_back(*match);
    taken = match->range.end;
  }
}

std::vector<TokenId> AddedVocabulary::ids() const {
  std::vector<TokenId> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

std::optional<TokenId> AddedVocabulary::token_to_id(std::string_view token) const {
  const auto found = names_.find(token);
  if (found == names_.end()) return std::nullopt;
  return found->second.id;
}

const AddedToken* AddedVocabulary::token(TokenId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.token;
}

std::optional<std::string_view> AddedVocabulary::decoded_text(TokenId id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  return found->second.decoded;
}

bool AddedVocabulary::is_special(TokenId id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.special;
}

}  // namespace polystate::tokenizer
