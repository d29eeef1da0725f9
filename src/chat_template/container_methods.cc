#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/dict_view.h"
#include "chat_template/methods.h"
#include "chat_template/object.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

template <DictView::Part part>
Value view(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "dict method", arguments, {}, 0);
  if (!given) return {};
  return rendering.checked(Value::object(std::make_shared<DictView>(self, part)));
}

Value get(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "get", arguments, {"/key", "/default"}, 1);
  if (!given) return {};
  if (!rendering.is_key(given[0]))
    return rendering.fail("unhashable type: '" + given[0].type_name() + "'");
  const Value* const found = self.dict().find(given[0]);
  return found == nullptr ? given[1] : *found;
}

Value copy(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "copy", arguments, {}, 0);
  return self;
}

Value unsupported(Rendering& rendering, const Value& /*self*/, const Arguments& /*arguments*/) {
  return rendering.fail("fromkeys() of a dictionary is not supported: use dict.fromkeys()");
}

Value count(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "count", arguments, {"/value"}, 1);
  if (!given || !rendering.spend(self.elements().size())) return {};
  return Value::integer(std::ranges::count_if(self.elements(), [&](const Value& element) {
    return rendering.are_equal(element, given[0]);
  }));
}

Value index(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "index", arguments, {"/value", "/start", "/stop"}, 1);
  const Elements& elements = self.elements();
  const auto size = static_cast<std::int64_t>(elements.size());
  if (!given || !rendering.spend(elements.size())) return {};
  const auto bound = [&](std::size_t i, std::int64_t otherwise) {
    const std::int64_t place = given.integer(i, otherwise);
    return std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size);
  };
  const std::int64_t end = bound(2, size);
  for (std::int64_t i = bound(1, 0); i < end; ++i) {
    const Value& element = elements[static_cast<std::size_t>(i)];
    if (rendering.are_equal(element, given[0])) return Value::integer(i);
  }
  return rendering.fail("a value is not in the " + self.type_name());
}

Value bit_length(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "bit_length", arguments, {}, 0);
  auto magnitude = static_cast<std::uint64_t>(self.as_integer());
  if (self.as_integer() < 0) magnitude = 0 - magnitude;
  std::int64_t bits = 0;
  for (; magnitude != 0; magnitude >>= 1U) ++bits;
  return Value::integer(bits);
}

Value is_whole(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "is_integer", arguments, {}, 0);
  const double real = self.as_real();
  return Value::boolean(std::isfinite(real) && real == std::floor(real));
}

Value conjugate(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "conjugate", arguments, {}, 0);
  return self.is_integer() ? Value::integer(self.as_integer(), self.origin()) : self;
}

constexpr auto kDictMethods = std::to_array<Method>({
    {"copy", copy},
    {"fromkeys", unsupported},
    {"get", get},
    {"items", view<DictView::Part::kItems>},
    {"keys", view<DictView::Part::kKeys>},
    {"values", view<DictView::Part::kValues>},
});
constexpr auto kSequenceMethods = std::to_array<Method>({{"count", count}, {"index", index}});
constexpr Method kListCopy = {"copy", copy};
constexpr Method kBitLength = {"bit_length", bit_length};
constexpr Method kIsInteger = {"is_integer", is_whole};
constexpr Method kConjugate = {"conjugate", conjugate};

constexpr auto kListChanges = std::to_array<std::string_view>(
    {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});
constexpr auto kDictChanges =
    std::to_array<std::string_view>({"clear", "pop", "popitem", "setdefault", "update"});

template <typename Methods>
const Method* find(const Methods& methods, std::string_view name) {
  const auto* const found = std::ranges::find(methods, name, &Method::name);
  return found == methods.end() ? nullptr : found;
}

}  // namespace

const Method* dict_method(std::string_view name) { return find(kDictMethods, name); }

const Method* sequence_method(const Value& sequence, std::string_view name) {
  if (sequence.kind() == Value::Kind::kList && name == kListCopy.name) return &kListCopy;
  return find(kSequenceMethods, name);
}

const Method* number_method(const Value& number, std::string_view name) {
  if (name == kConjugate.name) return &kConjugate;
  if (number.is_integer()) return name == kBitLength.name ? &kBitLength : nullptr;
  return name == kIsInteger.name ? &kIsInteger : nullptr;
}

bool changes_list(std::string_view name) {
  return std::ranges::find(kListChanges, name) != kListChanges.end();
}

bool changes_dict(std::string_view name) {
  return std::ranges::find(kDictChanges, name) != kDictChanges.end();
}

}  // namespace polystate::chat_template
