#include "chat_template/token_stream.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "chat_template/lexer.h"
#include "chat_template/python_text.h"

namespace polystate::chat_template {
namespace {

std::string described(Token::Kind kind) {
  switch (kind) {
    case Token::Kind::kData:
      return "template data / text";
    case Token::Kind::kVariableBegin:
      return "begin of print statement";
    case Token::Kind::kVariableEnd:
      return "end of print statement";
    case Token::Kind::kBlockBegin:
      return "begin of statement block";
    case Token::Kind::kBlockEnd:
      return "end of statement block";
    case Token::Kind::kName:
      return "name";
    case Token::Kind::kConstant:
      return "number";
    case Token::Kind::kString:
      return "string";
    case Token::Kind::kOperator:
      return "operator";
    case Token::Kind::kEnd:
      return "end of template";
  }
  return "";
}

std::string described(const Token& token) {
  const bool has_text = token.kind == Token::Kind::kName || token.kind == Token::Kind::kOperator;
  return has_text ? quoted(token.text) : described(token.kind);
}

}  // namespace

Token TokenStream::take() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

bool TokenStream::skip_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  take();
  return true;
}

Token TokenStream::expect(Token::Kind kind) {
  if (is(kind)) return take();
  fail_expecting(described(kind));
  return current();
}

void TokenStream::expect_name(std::string_view name) {
  if (!skip_name(name)) fail_expecting(quoted(name));
}

void TokenStream::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail_expecting(quoted(text));
}

void TokenStream::fail(std::uint32_t line, std::string_view message) {
  if (status_) status_ = syntax_error(line, message);
  at_ = tokens_.size() - 1;
}

void TokenStream::fail_expecting(std::string_view what) {
  fail("expected " + std::string(what) + ", got " + described(current()));
}

}  // namespace polystate::chat_template
