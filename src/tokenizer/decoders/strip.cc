#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"

namespace polystate::tokenizer {
namespace {

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
    std::string_view rest = held_;
    while (!started_ && stripped_ < start_ && rest.starts_with(character_)) {
      rest.remove_prefix(character_.size());
      ++stripped_;
    }
    held_.erase(0, held_.size() - rest.size());
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

class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string character, std::size_t start, std::size_t stop)
      : character_(std::move(character)), start_(start), stop_(stop) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override;

 private:
  std::string character_;
  std::size_t start_;
  std::size_t stop_;
};

}  // namespace

std::unique_ptr<DecodeStage> StripDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<StripStage>(next, character_, start_, stop_);
}

// Where tokens are one text already, its ends are none of a token's in the middle.
bool StripDecoder::to_bytes(TokenBytes& token) const {
  if (token.is_joined) return true;
  std::string_view bytes = token.bytes;
  for (std::size_t i = 0; i < start_ && bytes.starts_with(character_); ++i)
    bytes.remove_prefix(character_.size());
  for (std::size_t i = 0; i < stop_ && bytes.ends_with(character_); ++i)
    bytes.remove_suffix(character_.size());
  token.bytes = std::string(bytes);
  return true;
}

std::unique_ptr<const Decoder> strip_decoder(std::string character, std::size_t start,
                                             std::size_t stop) {
  return std::make_unique<StripDecoder>(std::move(character), start, stop);
}

}  // namespace polystate::tokenizer
