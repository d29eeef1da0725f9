#include "response/transform.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/python_text.h"
#include "chat_template/value.h"
#include "polystate/core/result.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Value;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The path of the placeholder that begins at an opening brace, "a.b"; nothing where no
// placeholder begins there.
std::optional<std::string_view> placeholder_at(std::string_view text) {
  bool had_word = false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '}' && had_word) return text.substr(1, i - 1);
    if (!is_word(text[i]) && (text[i] != '.' || !had_word)) return std::nullopt;
    had_word = text[i] != '.';
  }
  return std::nullopt;
}

// The path of a string that is a placeholder and nothing else.
std::optional<std::string_view> whole_placeholder(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  const std::optional<std::string_view> path = placeholder_at(text);
  if (path && path->size() + 2 == text.size()) return path;
  return std::nullopt;
}

bool has_placeholder(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    if (placeholder_at(text.substr(at))) return true;
  }
  return false;
}

std::string placeholder(std::string_view path) {
  return "the placeholder '{" + std::string(path) + "}'";
}

Result<Value> looked_up(std::string_view path, const Dict& scope) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const Value* value = scope.find(path.substr(0, dot));
  if (value == nullptr)
    return Error{ErrorCode::kContract, placeholder(path) + " stands for nothing that is there"};
  for (std::size_t begin = dot + 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view key = path.substr(begin, end - begin);
    if (value->kind() != Value::Kind::kDict) {
      return Error{ErrorCode::kContract, placeholder(path) + " asks for '" + std::string(key) +
                                             "' of a " + value->type_name()};
    }
    const Value* const inner = value->dict().find(key);
    if (inner == nullptr)
      return Error{ErrorCode::kContract,
                   placeholder(path) + ": there is no '" + std::string(key) + "'"};
    value = inner;
    begin = end + 1;
  }
  return *value;
}

}  // namespace

Status check_transform(const Value& transform) {
  if (transform.is_sequence()) {
    for (const Value& element : transform.elements()) {
      if (const Status checked = check_transform(element); !checked) return checked;
    }
  }
  if (transform.kind() == Value::Kind::kDict) {
    for (const auto& [key, value] : transform.dict().entries()) {
      if (const Status checked = check_transform(value); !checked) return checked;
    }
  }
  if (!transform.is_string()) return {};
  const std::string_view text = transform.bytes();
  if (!has_placeholder(text) || whole_placeholder(text)) return {};
  return Error{ErrorCode::kContract,
               "transform: " + chat_template::quoted(text) + " has text around a placeholder"};
}

Result<Value> transformed(const Value& transform, const Dict& scope) {
  if (transform.is_sequence()) {
    Elements elements;
    for (const Value& element : transform.elements()) {
      Result<Value> value = transformed(element, scope);
      if (!value) return value;
      elements.push_back(*std::move(value));
    }
    return Value::list(std::move(elements));
  }
  if (transform.kind() == Value::Kind::kDict) {
    Dict dict;
    for (const auto& [key, item] : transform.dict().entries()) {
      Result<Value> value = transformed(item, scope);
      if (!value) return value;
      dict.set(key, *std::move(value));
    }
    return Value::dict(std::move(dict));
  }
  if (!transform.is_string()) return transform;
  const std::optional<std::string_view> path = whole_placeholder(transform.bytes());
  return path ? looked_up(*path, scope) : transform;
}

}  // namespace polystate::response
