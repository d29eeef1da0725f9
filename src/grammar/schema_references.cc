#include "grammar/schema_references.h"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

std::string percent_decoded(std::string_view text) {
  std::string found;
  while (!text.empty()) {
    unsigned char byte = 0;
    const std::string_view digits = text.substr(1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool is_escape = text.front() == '%' && digits.size() == 2 && read.ec == std::errc() &&
                           read.ptr == digits.data() + 2;
    found += is_escape ? static_cast<char>(byte) : text.front();
    text.remove_prefix(is_escape ? 3 : 1);
  }
  return found;
}

// A name in a pointer, without its escapes.
std::string unescaped(std::string_view name) {
  std::string found;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view next = name.substr(i, 2);
    const bool is_escape = next == "~0" || next == "~1";
    if (is_escape) ++i;
    found += is_escape ? (next == "~0" ? '~' : '/') : name[i];
  }
  return found;
}

const Json* child_of(const Json& json, const std::string& name) {
  if (const Json::Object* const object = json.object()) return object->find(name);
  const Json::Array* const array = json.array();
  std::size_t index = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, index);
  const bool is_index = array != nullptr && read.ec == std::errc() && read.ptr == end;
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

}  // namespace

const Json* member(const Json& schema, std::string_view word) {
  const Json::Object* const object = schema.object();
  return object == nullptr ? nullptr : object->find(word);
}

std::string text_of(const Json& schema, std::string_view word) {
  const Json* const found = member(schema, word);
  const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return text == nullptr ? std::string() : *text;
}

SchemaReferences::SchemaReferences(const Json& root) : root_(&root), id_(text_of(root, "$id")) {
  if (id_.ends_with('#')) id_.pop_back();
}

Result<const Json*> SchemaReferences::find(const std::string& reference) const {
  const std::size_t hash = reference.find('#');
  const std::string_view base = std::string_view(reference).substr(0, hash);
  const std::string fragment = hash == std::string::npos
                                   ? ""
                                   : percent_decoded(std::string_view(reference).substr(hash + 1));
  const bool is_pointer = fragment.empty() || fragment.front() == '/';
  if ((!base.empty() && base != id_) || !is_pointer || reference.empty()) {
    return Error{ErrorCode::kUnsupported, "'" + reference +
                                              "' is not followed: '$ref' names a schema of this "
                                              "one, as in '#/$defs/name'"};
  }
  const Json* found = root_;
  std::string_view pointer = fragment;
  while (!pointer.empty() && found != nullptr) {
    pointer.remove_prefix(1);
    const std::string_view name = pointer.substr(0, pointer.find('/'));
    found = child_of(*found, unescaped(name));
    pointer.remove_prefix(name.size());
  }
  if (found != nullptr) return found;
  return Error{ErrorCode::kContract, "there is no '" + reference + "' in the schema"};
}

const Json& SchemaReferences::resolved(const Json& schema) const {
  constexpr int kMostSteps = 64;
  const Json* found = &schema;
  for (int step = 0; step < kMostSteps; ++step) {
    const std::string reference = text_of(*found, "$ref");
    if (reference.empty()) break;
    const Result<const Json*> target = find(reference);
    if (!target) break;
    found = *target;
  }
  return *found;
}

}  // namespace polystate::grammar
