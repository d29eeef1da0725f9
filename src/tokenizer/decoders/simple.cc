#include "tokenizer/decoders/simple.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/unicode/repair.h"
#include "tokenizer/models/model.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string changed;
  std::size_t kept = 0;
  for (; at != std::string::npos; at = text.find(from, kept)) {
    changed.append(text, kept, at - kept);
    changed += to;
    kept = at + from.size();
  }
  changed.append(text, kept);
  text = std::move(changed);
}

// Removes what WordPiece puts between words and their punctuation, in English.
void clean_up(std::string& text) {
  using Rule = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Rule, 11> kRules = {{{" .", "."},
                                            {" ?", "?"},
                                            {" !", "!"},
                                            {" ,", ","},
                                            {" ' ", "'"},
                                            {" n't", "n't"},
                                            {" 'm", "'m"},
                                            {" do not", " don't"},
                                            {" 's", "'s"},
                                            {" 've", "'ve"},
                                            {" 're", "'re"}}};
  if (text.find(' ') == std::string::npos) return;
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

class JoinStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void fragment(std::string_view text) override {
    separate();
    next().fragment(text);
  }
  void end_token() override {
    separate();  // a token may be empty
    in_token_ = false;
    first_ = false;
    next().end_token();
  }
  void finish() override {
    first_ = true;
    next().finish();
  }

 private:
  void separate() {
    if (!in_token_ && !first_) next().fragment(" ");
    in_token_ = true;
  }

  bool first_ = true;
  bool in_token_ = false;
};

class ByteLevelStage : public DecodeStage {
 public:
  ByteLevelStage(DecodeStage& next, bool raw) : DecodeStage(&next), raw_(raw) {}
  void fragment(std::string_view text) override {
    if (raw_) {
      bytes_ += text;
    } else {
      token_ += text;
    }
  }
  void end_token() override {
    if (!raw_) {
      if (!append_alphabet_bytes(token_, bytes_)) bytes_ += token_;
      token_.clear();
    }
    give_characters();
  }
  void finish() override {
    repaired_.clear();
    append_repaired(bytes_, repaired_, nullptr);
    bytes_.clear();
    give_token(repaired_);
    next().finish();
  }

 private:
  // Gives what later bytes cannot change: all but the start of a character at the end.
  void give_characters() {
    std::size_t whole = valid_prefix(bytes_);
    while (whole < bytes_.size()) {
      const MalformedUtf8 malformed = malformed_at(std::string_view(bytes_).substr(whole));
      if (malformed.incomplete) break;
      bytes_.replace(whole, malformed.size, kReplacementCharacter);
      whole += valid_prefix(std::string_view(bytes_).substr(whole));
    }
    next().fragment(std::string_view(bytes_).substr(0, whole));
    bytes_.erase(0, whole);
  }

  bool raw_;
  std::string token_;
  std::string bytes_;  // not given yet
  std::string repaired_;
};

class WordPieceStage : public TokenStage {
 public:
  WordPieceStage(DecodeStage& next, const std::string& prefix, bool cleanup)
      : TokenStage(&next), prefix_(prefix), cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override {
    if (!first_) {
      if (text.starts_with(prefix_)) {
        text.erase(0, prefix_.size());
      } else {
        text.insert(0, 1, ' ');
      }
    }
    first_ = false;
    if (cleanup_) clean_up(text);
    give_token(text);
  }
  void end() override { first_ = true; }

 private:
  const std::string& prefix_;
  bool cleanup_;
  bool first_ = true;
};

class MetaspaceStage : public TokenStage {
 public:
  MetaspaceStage(DecodeStage& next, const std::string& marker, bool strips_first)
      : TokenStage(&next), marker_(marker), strips_first_(strips_first) {}

 protected:
  void token(std::string& text) override {
    replace_all(text, marker_, first_ && strips_first_ ? "" : " ");
    first_ = false;
    give_token(text);
  }
  void end() override { first_ = true; }

 private:
  const std::string& marker_;
  bool strips_first_;
  bool first_ = true;
};

// Keeps a token back until it knows whether that was the last one.
class BpeStage : public TokenStage {
 public:
  BpeStage(DecodeStage& next, const std::string& suffix) : TokenStage(&next), suffix_(suffix) {}

 protected:
  void token(std::string& text) override {
    give_previous(" ");
    previous_ = text;
  }
  void end() override { give_previous(""); }

 private:
  void give_previous(std::string_view replacement) {
    if (!previous_) return;
    replace_all(*previous_, suffix_, replacement);
    give_token(*previous_);
    previous_.reset();
  }

  const std::string& suffix_;
  std::optional<std::string> previous_;
};

class CtcStage : public TokenStage {
 public:
  CtcStage(DecodeStage& next, const std::string& pad_token, const std::string& word_delimiter,
           bool cleanup)
      : TokenStage(&next),
        pad_token_(pad_token),
        word_delimiter_(word_delimiter),
        cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override {
    if (text == previous_) return;
    previous_ = text;
    replace_all(text, pad_token_, "");
    if (cleanup_) {
      clean_up(text);
      replace_all(text, word_delimiter_, " ");
    }
    if (!text.empty()) give_token(text);
  }
  void end() override { previous_.reset(); }

 private:
  const std::string& pad_token_;
  const std::string& word_delimiter_;
  bool cleanup_;
  std::optional<std::string> previous_;
};

class ReplaceStage : public TokenStage {
 public:
  ReplaceStage(DecodeStage& next, Status& status, const Pattern& pattern,
               const std::string& content)
      : TokenStage(&next), status_(status), pattern_(pattern), content_(content) {}

 protected:
  void token(std::string& text) override {
    matches_.clear();
    if (const Status found = pattern_.find(text, matches_); !found) {
      status_ = found;
      return;
    }
    std::size_t kept = 0;
    for (const ByteRange& match : matches_) {
      next().fragment(std::string_view(text).substr(kept, match.begin - kept));
      next().fragment(content_);
      kept = match.end;
    }
    give_token(std::string_view(text).substr(kept));
  }

 private:
  Status& status_;
  const Pattern& pattern_;
  const std::string& content_;
  std::vector<ByteRange> matches_;
};

class FuseStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void fragment(std::string_view text) override { next().fragment(text); }
  void end_token() override {}
  void finish() override {
    next().end_token();
    next().finish();
  }
};

class StripStage : public DecodeStage {
 public:
  StripStage(DecodeStage& next, const std::string& character, std::size_t start, std::size_t stop)
      : DecodeStage(&next), character_(character), start_(start), stop_(stop) {}
  void fragment(std::string_view text) override {
    held_ += text;
    strip_start();
    // What the end of the token may still lose is held back.
    const std::size_t hold = std::max(stop_ * character_.size(), character_.size() - 1);
    if (stop_ == 0 && started_) {
      give(held_.size());
    } else if (started_ && held_.size() > hold) {
      give(held_.size() - hold);
    }
  }
  void end_token() override {
    const std::string_view held = held_;
    std::size_t end = held.size();
    for (std::size_t i = 0; i < stop_ && held.substr(0, end).ends_with(character_); ++i)
      end -= character_.size();
    next().fragment(held.substr(0, end));
    next().end_token();
    held_.clear();
    stripped_ = 0;
    started_ = false;
  }
  void finish() override { next().finish(); }

 private:
  void strip_start() {
    while (!started_ && stripped_ < start_ && held_.starts_with(character_)) {
      held_.erase(0, character_.size());
      ++stripped_;
    }
    started_ = started_ || stripped_ == start_ || held_.size() >= character_.size();
  }
  void give(std::size_t size) {
    while (size > 0 && size < held_.size() && !starts_character(held_[size])) --size;
    next().fragment(std::string_view(held_).substr(0, size));
    held_.erase(0, size);
  }

  const std::string& character_;
  std::size_t start_;
  std::size_t stop_;
  std::string held_;
  std::size_t stripped_ = 0;  // from the start of this token
  bool started_ = false;      // nothing more is stripped from it
};

class ByteFallbackStage : public TokenStage {
 public:
  using TokenStage::TokenStage;

 protected:
  void token(std::string& text) override {
    if (const auto byte = byte_of_token(text)) {
      bytes_ += static_cast<char>(*byte);
      return;
    }
    give_bytes();
    give_token(text);
  }
  void end() override { give_bytes(); }

 private:
  void give_bytes() {
    if (bytes_.empty()) return;
    if (valid_prefix(bytes_) == bytes_.size()) {
      give_token(bytes_);
    } else {
      for (std::size_t i = 0; i < bytes_.size(); ++i) give_token(kReplacementCharacter);
    }
    bytes_.clear();
  }

  std::string bytes_;  // of the run of byte tokens so far
};

}  // namespace

std::unique_ptr<DecodeStage> JoinDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<JoinStage>(&next);
}

std::unique_ptr<DecodeStage> ByteLevelDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<ByteLevelStage>(next, raw_);
}

std::unique_ptr<DecodeStage> WordPieceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<WordPieceStage>(next, prefix_, cleanup_);
}

std::unique_ptr<DecodeStage> MetaspaceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<MetaspaceStage>(next, marker_, strips_first_);
}

std::unique_ptr<DecodeStage> BpeDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<BpeStage>(next, suffix_);
}

std::unique_ptr<DecodeStage> CtcDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<CtcStage>(next, pad_token_, word_delimiter_, cleanup_);
}

std::unique_ptr<DecodeStage> ReplaceDecoder::stage(DecodeStage& next, Status& status) const {
  return std::make_unique<ReplaceStage>(next, status, pattern_, content_);
}

std::unique_ptr<DecodeStage> FuseDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<FuseStage>(&next);
}

std::unique_ptr<DecodeStage> StripDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<StripStage>(next, character_, start_, stop_);
}

std::unique_ptr<DecodeStage> ByteFallbackDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<ByteFallbackStage>(&next);
}

}  // namespace polystate::tokenizer
