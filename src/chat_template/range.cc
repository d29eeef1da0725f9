#include "chat_template/range.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

// The differences may have 65 bits.
std::int64_t count_of(std::int64_t start, std::int64_t stop, std::int64_t step) {
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const std::uint64_t whole = step > 0 ? distance(start, stop) : distance(stop, start);
  const std::uint64_t each = step > 0 ? distance(0, step) : distance(step, 0);
  const std::uint64_t count = (whole - 1) / each + 1;
  return count > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(count);
}

}  // namespace

Range::Range(std::int64_t start, std::int64_t stop, std::int64_t step)
    : start_(start), stop_(stop), step_(step), count_(count_of(start, stop, step)) {}

bool Range::equals(const Object& other) const {
  const auto* const range = dynamic_cast<const Range*>(&other);
  if (range == nullptr || count_ != range->count_) return false;
  return count_ == 0 || (start_ == range->start_ && (count_ == 1 || step_ == range->step_));
}

std::optional<Value> Range::attribute(Rendering& /*rendering*/, std::string_view name) {
  if (name == "start") return Value::integer(start_);
  if (name == "stop") return Value::integer(stop_);
  if (name == "step") return Value::integer(step_);
  return std::nullopt;
}

std::optional<Value> Range::item(Rendering& /*rendering*/, const Value& key) {
  if (!key.is_integer()) return std::nullopt;
  std::int64_t index = key.as_integer();
  if (index < 0) index += count_;
  if (index < 0 || index >= count_) return std::nullopt;
  return at(index);
}

std::shared_ptr<Iterator> Range::iterate() {
  return make_iterator(depth(),
                       [range = Value::object(shared_from_this()), this,
                        i = std::int64_t{0}](Rendering&) mutable -> std::optional<Value> {
                         return i < count_ ? std::optional(at(i++)) : std::nullopt;
                       });
}

std::shared_ptr<Iterator> Range::iterate_backwards() {
  return make_iterator(depth(),
                       [range = Value::object(shared_from_this()), this,
                        i = count_](Rendering&) mutable -> std::optional<Value> {
                         return i > 0 ? std::optional(at(--i)) : std::nullopt;
                       });
}

bool Range::write(Rendering& /*rendering*/, TextBuilder& builder) {
  std::string text = "range(" + std::to_string(start_) + ", " + std::to_string(stop_);
  if (step_ != 1) text += ", " + std::to_string(step_);
  builder.append(text + ")", Origin::kTemplate);
  return true;
}

Value Range::sliced(Rendering& rendering, const Slice& slice) const {
  const auto picked = slice_range(rendering, slice, count_);
  if (!picked) return {};
  std::int64_t first = 0;
  std::int64_t step = 0;
  std::int64_t stop = 0;
  if (__builtin_mul_overflow(picked->first, step_, &first) ||
      __builtin_add_overflow(first, start_, &first) ||
      __builtin_mul_overflow(picked->step, step_, &step) ||
      __builtin_mul_overflow(picked->count, step, &stop) ||
      __builtin_add_overflow(first, stop, &stop))
    return rendering.fail("a range has numbers of more than 64 bits, which are not supported");
  return Value::object(std::make_shared<Range>(first, stop, step));
}

}  // namespace polystate::chat_template
