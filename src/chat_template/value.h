#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "chat_template/text.h"

namespace polystate::chat_template {

class Dict;
class Object;
class Value;

using Elements = std::vector<Value>;

// A list or a tuple.
struct Sequence {
  Elements elements;
  std::uint32_t depth;
  std::uint64_t value_count;
};

// What a name, an attribute or an element is that does not exist: it prints nothing, is false and
// empty, and fails whatever else is done with it.
struct Undefined {
  std::string message;  // of that failure
};

// A value of a template, as Python has them. Immutable but for the objects of a rendering, and
// shared by copies.
//
// Values in one another have a depth and a count, which containers keep: so functions that descend
// into them need no limit of their own.
class Value {
 public:
  enum class Kind : std::uint8_t {
    kUndefined,
    kNone,
    kBoolean,
    kInteger,
    kReal,
    kString,
    kList,
    kTuple,
    kDict,
    kObject
  };
  static constexpr std::uint32_t kMaxDepth = 400;

  Value() = default;  // none
  static Value undefined(std::string message);
  // What a variable is before it has a value. It never leaves its frame.
  static Value missing();
  static Value boolean(bool value, Origin origin = Origin::kTemplate);
  static Value integer(std::int64_t value, Origin origin = Origin::kTemplate);
  static Value real(double value, Origin origin = Origin::kTemplate);
  static Value string(Text text);
  static Value string(std::string_view bytes, Origin origin = Origin::kTemplate);
  // Texts marked as HTML, which Python adds to others with escapes.
  static Value markup(Text text);
  static Value list(Elements elements);
  static Value tuple(Elements elements);
  static Value dict(Dict dict);
  static Value object(std::shared_ptr<Object> object);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_undefined() const { return kind_ == Kind::kUndefined; }
  [[nodiscard]] bool is_missing() const { return is_undefined() && !pointer<Undefined>(); }
  [[nodiscard]] bool is_none() const { return kind_ == Kind::kNone; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::kString; }
  [[nodiscard]] bool is_markup() const { return is_string() && markup_; }
  // As Python's int, of which bool is one.
  [[nodiscard]] bool is_integer() const {
    return kind_ == Kind::kInteger || kind_ == Kind::kBoolean;
  }
  [[nodiscard]] bool is_number() const { return is_integer() || kind_ == Kind::kReal; }
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }

  // The value as one of these, which it must be.
  [[nodiscard]] bool as_boolean() const { return std::get<std::int64_t>(data_) != 0; }
  [[nodiscard]] std::int64_t as_integer() const { return std::get<std::int64_t>(data_); }
  [[nodiscard]] double as_real() const;  // of any number
  [[nodiscard]] const Text& text() const { return *pointer<Text>(); }
  [[nodiscard]] std::string_view bytes() const { return text().bytes(); }
  [[nodiscard]] const Elements& elements() const { return pointer<Sequence>()->elements; }
  [[nodiscard]] const Dict& dict() const { return *pointer<Dict>(); }
  [[nodiscard]] Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
  [[nodiscard]] const std::string& undefined_message() const {
    return pointer<Undefined>()->message;
  }

  // The value as an object of a class; nullptr where it is none.
  template <typename T>
  [[nodiscard]] T* as() const {
    return kind_ == Kind::kObject ? dynamic_cast<T*>(&object()) : nullptr;
  }

  // Whose a number is; texts know it for each character.
  [[nodiscard]] Origin origin() const { return origin_; }
  [[nodiscard]] std::uint32_t depth() const;
  // How many values it is with those in it, each as often as it occurs.
  [[nodiscard]] std::uint64_t value_count() const;
  [[nodiscard]] bool is_true() const;
  // Python's name of the type: "str", "dict".
  [[nodiscard]] std::string type_name() const;
  // Whether both are one thing in memory, as Python's `is` says.
  [[nodiscard]] bool is_same(const Value& other) const;

 private:
  template <typename T>
  [[nodiscard]] const T* pointer() const {
    const auto* const shared = std::get_if<std::shared_ptr<const T>>(&data_);
    return shared == nullptr ? nullptr : shared->get();
  }

  Kind kind_ = Kind::kNone;
  Origin origin_ = Origin::kTemplate;
  bool markup_ = false;
  std::variant<std::int64_t, double, std::shared_ptr<const Undefined>, std::shared_ptr<const Text>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
               std::shared_ptr<Object>>
      data_;
};

// Whether two values are equal, as Python's == says, and a hash that equal ones share.
bool equal(const Value& a, const Value& b);
std::size_t hash_of(const Value& value);
// Whether Python hashes it; not lists and dicts.
bool is_hashable(const Value& value);

// Pairs of keys and values in the order in which the keys came.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  // The key must be hashable. The value of a key that is there already is replaced.
  void set(Value key, Value value);
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] std::uint64_t value_count() const { return value_count_; }

 private:
  [[nodiscard]] std::optional<std::size_t> index_of(const Value& key) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<std::size_t, std::size_t> index_;  // by hash; of many entries only
  std::uint32_t depth_ = 1;
  std::uint64_t value_count_ = 1;
};

}  // namespace polystate::chat_template
