#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

// One stage of decoding at work. It is given tokens one after the other, each as fragments of its
// text, and gives what it makes of them to the next stage as soon as it cannot change any more.
class DecodeStage {
 public:
  explicit DecodeStage(DecodeStage* next) : next_(next) {}
  DecodeStage(const DecodeStage&) = delete;
  DecodeStage& operator=(const DecodeStage&) = delete;
  virtual ~DecodeStage() = default;

  // A part of the current token.
  virtual void fragment(std::string_view text) = 0;
  // The current token is complete.
  virtual void end_token() = 0;
  // No token follows. The stage then starts anew.
  virtual void finish() = 0;

 protected:
  [[nodiscard]] DecodeStage& next() const { return *next_; }
  void give_token(std::string_view text) const {
    next_->fragment(text);
    next_->end_token();
  }

 private:
  DecodeStage* next_;
};

// A stage that looks at whole tokens.
class TokenStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void fragment(std::string_view text) final { token_ += text; }
  void end_token() final {
    token(token_);
    token_.clear();
  }
  void finish() final {
    end();
    next().finish();
  }

 protected:
  // The next token; it may be changed at will.
  virtual void token(std::string& text) = 0;
  // No token follows.
  virtual void end() {}

 private:
  std::string token_;
};

// A token in the middle of a text, on its way through decoders.
struct TokenBytes {
  std::string bytes;
  bool is_joined = false;  // with its neighbours: it has no ends of its own any more
};

// Makes text from the text of tokens. Immutable, and shared by threads.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // A stage that gives to `next`, which outlives it. Where it fails, it stores the error in
  // `status`, which outlives it too.
  virtual std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const = 0;

  // Whether it is to be given tokens as bytes, not in the byte alphabet.
  [[nodiscard]] virtual bool takes_bytes() const { return false; }

  // Turns the text of a token into the bytes that it adds to a text which goes on around it. False,
  // the default, where these depend on its neighbours.
  [[nodiscard]] virtual bool to_bytes(TokenBytes& token) const;
};

// The stages of decoders at work, one after the other, and the text that came out so far.
class DecodeChain {
 public:
  explicit DecodeChain(const std::vector<std::unique_ptr<const Decoder>>& decoders);
  DecodeChain(const DecodeChain&) = delete;
  DecodeChain& operator=(const DecodeChain&) = delete;
  ~DecodeChain();

  void token(std::string_view text) {
    first_->fragment(text);
    first_->end_token();
  }
  void finish() { first_->finish(); }

  // The text that came out since it was last taken.
  Result<std::string> take();

 private:
  class Sink;

  Status status_;
  std::unique_ptr<Sink> sink_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
  DecodeStage* first_;
};

}  // namespace polystate::tokenizer
