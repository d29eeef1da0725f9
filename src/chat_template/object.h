#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

struct Arguments;
class Iterator;
class Rendering;

// A value that is made while a template is rendered: functions, iterators, loops. Its functions are
// those of Python's objects; what an object does not override it cannot do.
class Object : public std::enable_shared_from_this<Object> {
 public:
  // `depth` and `value_count`: of the values that it holds; the latter matters only where they
  // decide whether it equals another.
  explicit Object(std::uint32_t depth = 0, std::uint64_t value_count = 0)
      : depth_(depth + 1), value_count_(value_count + 1) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] std::uint64_t value_count() const { return value_count_; }
  [[nodiscard]] virtual std::string_view type_name() const = 0;
  [[nodiscard]] virtual bool equals(const Object& other) const { return this == &other; }
  // len(); none: it has none.
  [[nodiscard]] virtual std::optional<std::int64_t> length() const { return std::nullopt; }
  [[nodiscard]] virtual bool is_callable() const { return false; }
  [[nodiscard]] virtual bool is_mapping() const { return false; }
  [[nodiscard]] virtual bool has_items() const { return false; }  // __getitem__

  // getattr(); none: it has no such attribute.
  virtual std::optional<Value> attribute(Rendering& /*rendering*/, std::string_view /*name*/) {
    return std::nullopt;
  }
  // object[key]; none: it has no such element, or none at all.
  virtual std::optional<Value> item(Rendering& /*rendering*/, const Value& /*key*/) {
    return std::nullopt;
  }
  virtual std::shared_ptr<Iterator> iterate() { return nullptr; }
  virtual std::shared_ptr<Iterator> iterate_backwards() { return nullptr; }
  virtual Value call(Rendering& rendering, const Arguments& arguments);
  // Writes repr(); false where that has an address, which differs each time.
  virtual bool write(Rendering& /*rendering*/, TextBuilder& /*builder*/) { return false; }

 private:
  std::uint32_t depth_;
  std::uint64_t value_count_;
};

// Gives values one after another, once.
class Iterator : public Object {
 public:
  using Object::Object;
  [[nodiscard]] std::string_view type_name() const override { return "generator"; }
  // None at the end, and after a failure.
  virtual std::optional<Value> next(Rendering& rendering) = 0;
  std::shared_ptr<Iterator> iterate() override {
    return std::static_pointer_cast<Iterator>(shared_from_this());
  }
};

// An iterator whose `next` is a function.
template <typename Next>
class FunctionIterator : public Iterator {
 public:
  FunctionIterator(std::uint32_t depth, Next next) : Iterator(depth), next_(std::move(next)) {}
  std::optional<Value> next(Rendering& rendering) override { return next_(rendering); }

 private:
  Next next_;
};

template <typename Next>
std::shared_ptr<Iterator> make_iterator(std::uint32_t depth, Next next) {
  return std::make_shared<FunctionIterator<Next>>(depth, std::move(next));
}

// The values of an iterable one after another; nullptr for other values, the latter with a failure.
std::shared_ptr<Iterator> iterate(const Value& value);
std::shared_ptr<Iterator> iterate_or_fail(Rendering& rendering, const Value& value);
// An iterator's next value, which counts as a step.
std::optional<Value> next_of(Rendering& rendering, Iterator& iterator);
// Calls each(value) until it answers false. Fails where `iterable` is none.
template <typename Each>
void for_each_value(Rendering& rendering, const Value& iterable, Each&& each) {
  const std::shared_ptr<Iterator> iterator = iterate_or_fail(rendering, iterable);
  while (iterator) {
    const std::optional<Value> value = next_of(rendering, *iterator);
    if (!value || !each(*value)) return;
  }
}
// All values of an iterable. Fails where it is none.
Elements elements_of(Rendering& rendering, const Value& iterable);
// len(). Fails for values that have none.
std::int64_t length_of(Rendering& rendering, const Value& value);

}  // namespace polystate::chat_template
