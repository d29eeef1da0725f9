#include "chat_template/value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "chat_template/number.h"
#include "chat_template/object.h"
#include "chat_template/text.h"

namespace polystate::chat_template {
namespace {

constexpr std::size_t kFewEntries = 8;  // which are compared one by one

std::shared_ptr<const Sequence> sequence_of(Elements elements) {
  std::uint32_t depth = 0;
  std::uint64_t count = 1;
  for (const Value& element : elements) {
    depth = std::max(depth, element.depth());
    count += element.value_count();
  }
  return std::make_shared<const Sequence>(Sequence{std::move(elements), depth + 1, count});
}

bool equal_dicts(const Dict& a, const Dict& b) {
  return a.size() == b.size() && std::ranges::all_of(a.entries(), [&](const Dict::Entry& entry) {
           const Value* const other = b.find(entry.first);
           return other != nullptr && equal(entry.second, *other);
         });
}

}  // namespace

Value Value::undefined(std::string message) {
  Value value;
  value.kind_ = Kind::kUndefined;
  value.data_ = std::make_shared<const Undefined>(Undefined{std::move(message)});
  return value;
}

Value Value::missing() {
  Value value;
  value.kind_ = Kind::kUndefined;
  return value;
}

Value Value::boolean(bool boolean, Origin origin) {
  Value value = integer(boolean ? 1 : 0, origin);
  value.kind_ = Kind::kBoolean;
  return value;
}

Value Value::integer(std::int64_t integer, Origin origin) {
  Value value;
  value.kind_ = Kind::kInteger;
  value.origin_ = origin;
  value.data_ = integer;
  return value;
}

Value Value::real(double real, Origin origin) {
  Value value;
  value.kind_ = Kind::kReal;
  value.origin_ = origin;
  value.data_ = real;
  return value;
}

Value Value::string(Text text) {
  Value value;
  value.kind_ = Kind::kString;
  value.data_ = std::make_shared<const Text>(std::move(text));
  return value;
}

Value Value::string(std::string_view bytes, Origin origin) {
  return string(Text(std::string(bytes), origin));
}

Value Value::markup(Text text) {
  Value value = string(std::move(text));
  value.markup_ = true;
  return value;
}

Value Value::list(Elements elements) {
  Value value;
  value.kind_ = Kind::kList;
  value.data_ = sequence_of(std::move(elements));
  return value;
}

Value Value::tuple(Elements elements) {
  Value value = list(std::move(elements));
  value.kind_ = Kind::kTuple;
  return value;
}

Value Value::dict(Dict dict) {
  Value value;
  value.kind_ = Kind::kDict;
  value.data_ = std::make_shared<const Dict>(std::move(dict));
  return value;
}

Value Value::object(std::shared_ptr<Object> object) {
  Value value;
  value.kind_ = Kind::kObject;
  value.data_ = std::move(object);
  return value;
}

double Value::as_real() const {
  return kind_ == Kind::kReal ? std::get<double>(data_) : static_cast<double>(as_integer());
}

std::uint32_t Value::depth() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
      return pointer<Sequence>()->depth;
    case Kind::kDict:
      return dict().depth();
    case Kind::kObject:
      return object().depth();
    default:
      return 0;
  }
}

std::uint64_t Value::value_count() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
      return pointer<Sequence>()->value_count;
    case Kind::kDict:
      return dict().value_count();
    case Kind::kObject:
      return object().value_count();
    default:
      return 1;
  }
}

bool Value::is_true() const {
  switch (kind_) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBoolean:
    case Kind::kInteger:
      return as_integer() != 0;
    case Kind::kReal:
      return as_real() != 0;
    case Kind::kString:
      return !text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !elements().empty();
    case Kind::kDict:
      return dict().size() > 0;
    case Kind::kObject:
      return object().length().value_or(1) > 0;
  }
  return false;
}

std::string Value::type_name() const {
  switch (kind_) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBoolean:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kReal:
      return "float";
    case Kind::kString:
      return markup_ ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return std::string(object().type_name());
  }
  return "";
}

bool Value::is_same(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kUndefined:
    case Kind::kNone:
      return kind_ == Kind::kNone || data_ == other.data_;
    case Kind::kString:
      return bytes() == other.bytes();  // Python shares those of a template
    default:
      return data_ == other.data_;
  }
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kString:
      return a.bytes() == b.bytes();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return std::ranges::equal(a.elements(), b.elements(), [](const Value& x, const Value& y) {
        return x.is_same(y) || equal(x, y);
      });
    case Value::Kind::kDict:
      return equal_dicts(a.dict(), b.dict());
    case Value::Kind::kObject:
      return a.object().equals(b.object());
    default:
      return true;
  }
}

std::size_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kBoolean:
    case Value::Kind::kInteger:
    case Value::Kind::kReal:
      return std::hash<double>()(value.as_real());
    case Value::Kind::kString:
      return std::hash<std::string_view>()(value.bytes());
    case Value::Kind::kTuple: {
      std::size_t hash = value.elements().size();
      for (const Value& element : value.elements()) hash = hash * 31 + hash_of(element);
      return hash;
    }
    default:
      return static_cast<std::size_t>(value.kind());
  }
}

bool is_hashable(const Value& value) {
  if (value.kind() == Value::Kind::kTuple)
    return std::ranges::all_of(value.elements(), is_hashable);
  return value.kind() != Value::Kind::kList && value.kind() != Value::Kind::kDict;
}

void Dict::set(Value key, Value value) {
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  value_count_ += value.value_count();
  if (const auto index = index_of(key)) {
    value_count_ -= entries_[*index].second.value_count();
    entries_[*index].second = std::move(value);
    return;
  }
  value_count_ += key.value_count();
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() <= kFewEntries) return;
  if (index_.empty()) {
    for (std::size_t i = 0; i + 1 < entries_.size(); ++i)
      index_.emplace(hash_of(entries_[i].first), i);
  }
  index_.emplace(hash_of(entries_.back().first), entries_.size() - 1);
}

const Value* Dict::find(const Value& key) const {
  const auto index = index_of(key);
  return index ? &entries_[*index].second : nullptr;
}

const Value* Dict::find(std::string_view key) const { return find(Value::string(key)); }

std::optional<std::size_t> Dict::index_of(const Value& key) const {
  const auto is_key = [&](std::size_t i) {
    return entries_[i].first.is_same(key) || equal(entries_[i].first, key);
  };
  if (entries_.size() <= kFewEntries) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (is_key(i)) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(hash_of(key));
  for (auto found = begin; found != end; ++found) {
    if (is_key(found->second)) return found->second;
  }
  return std::nullopt;
}

}  // namespace polystate::chat_template
