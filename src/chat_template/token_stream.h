#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/lexer.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {

// The tokens of a template one after another, and the first error of those who read them. After an
// error there is nothing but the end.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& next() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  [[nodiscard]] std::uint32_t line() const { return current().line; }
  // The current token, which the stream goes past.
  Token take();

  [[nodiscard]] bool is(Token::Kind kind) const { return current().kind == kind; }
  [[nodiscard]] bool is_name(std::string_view name) const { return is_name(current(), name); }
  [[nodiscard]] bool is_operator(std::string_view text) const {
    return is(Token::Kind::kOperator) && current().text == text;
  }
  [[nodiscard]] static bool is_name(const Token& token, std::string_view name) {
    return token.kind == Token::Kind::kName && token.text == name;
  }

  // Goes past a token if it is the one that is meant.
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view text);
  // Goes past a token, which must be the one that is meant.
  Token expect(Token::Kind kind);
  void expect_name(std::string_view name);
  void expect_operator(std::string_view text);

  // Records "line 3: <message>".
  void fail(std::string_view message) { fail(line(), message); }
  void fail(std::uint32_t line, std::string_view message);
  // Records that the current token is not what is expected.
  void fail_expecting(std::string_view what);
  [[nodiscard]] bool failed() const { return !status_.has_value(); }
  [[nodiscard]] Status& status() { return status_; }

 private:
  std::vector<Token> tokens_;  // never empty: kEnd is the last
  std::size_t at_ = 0;
  Status status_;
};

}  // namespace polystate::chat_template
