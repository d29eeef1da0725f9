#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/arguments.h"
#include "chat_template/attribute_path.h"
#include "chat_template/dict_view.h"
#include "chat_template/filters.h"
#include "chat_template/group.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/string_functions.h"
#include "chat_template/tests.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

Value as_value(Rendering& rendering, std::shared_ptr<Iterator> iterator) {
  return rendering.checked(Value::object(std::move(iterator)));
}

// What is compared where case does not count.
Value without_case(Rendering& rendering, const Value& value) {
  if (!value.is_string()) return value;
  if (!rendering.may_make_text(value.text().size())) return {};
  return Value::string(lower(value.text()));
}

Value length(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "length", arguments, {"/obj"}, 1);
  return given ? Value::integer(length_of(rendering, given[0])) : Value();
}

Value list(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "list", arguments, {"value"}, 1);
  return given ? Value::list(elements_of(rendering, given[0])) : Value();
}

Value first(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "first", arguments, {"seq"}, 1);
  if (!given) return {};
  std::optional<Value> found;
  for_each_value(rendering, given[0], [&](const Value& value) {
    found = value;
    return false;
  });
  return found ? *found : Value::undefined("No first item, sequence was empty.");
}

// The values of what Python's reversed() takes; nullptr for others.
std::shared_ptr<Iterator> backwards(Rendering& rendering, const Value& value) {
  if (value.kind() == Value::Kind::kObject) return value.object().iterate_backwards();
  if (value.is_none() || value.is_number()) return nullptr;
  Elements elements = elements_of(rendering, value);
  std::ranges::reverse(elements);
  return iterate(Value::list(std::move(elements)));
}

Value last(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "last", arguments, {"seq"}, 1);
  if (!given) return {};
  if (given[0].is_sequence() && !given[0].elements().empty()) return given[0].elements().back();
  const std::shared_ptr<Iterator> iterator = backwards(rendering, given[0]);
  if (!iterator) return rendering.fail("'" + given[0].type_name() + "' object is not reversible");
  const std::optional<Value> found = next_of(rendering, *iterator);
  return found ? *found : Value::undefined("No last item, sequence was empty.");
}

Value reverse(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "reverse", arguments, {"value"}, 1);
  if (!given) return {};
  if (given[0].is_string()) return slice(rendering, given[0], {{}, {}, Value::integer(-1)});
  if (std::shared_ptr<Iterator> iterator = backwards(rendering, given[0]))
    return as_value(rendering, std::move(iterator));
  Elements elements = elements_of(rendering, given[0]);
  std::ranges::reverse(elements);
  return Value::list(std::move(elements));
}

// What a sort compares: the value, or its attributes, which commas separate.
class SortKey {
 public:
  SortKey(Rendering& rendering, const Value& attribute, bool case_sensitive)
      : case_sensitive_(case_sensitive) {
    if (!attribute.is_string()) {
      paths_.emplace_back(rendering, attribute);
      return;
    }
    for (Text& path : split(rendering, attribute.text(), ",", -1, false))
      paths_.emplace_back(rendering, Value::string(std::move(path)));
  }

  [[nodiscard]] Value of(Rendering& rendering, const Value& value) const {
    Elements keys;
    for (const AttributePath& path : paths_) {
      const Value key = path.of(rendering, value);
      keys.push_back(case_sensitive_ ? key : without_case(rendering, key));
    }
    return Value::list(std::move(keys));
  }

 private:
  std::vector<AttributePath> paths_;
  bool case_sensitive_;
};

struct Keyed {
  Value key;
  Value value;
};

void sort_by_keys(Rendering& rendering, std::vector<Keyed>& keyed, bool reverse) {
  std::ranges::stable_sort(keyed, [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(rendering, b.key, a.key) : less(rendering, a.key, b.key);
  });
}

Value sort(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "sort", arguments,
                         {"value", "reverse", "case_sensitive", "attribute"}, 1);
  if (!given) return {};
  const SortKey key(rendering, given[3], given.truth(2, false));
  std::vector<Keyed> keyed;
  for_each_value(rendering, given[0], [&](const Value& value) {
    keyed.push_back({key.of(rendering, value), value});
    return true;
  });
  sort_by_keys(rendering, keyed, given.truth(1, false));
  Elements sorted;
  for (Keyed& element : keyed) sorted.push_back(std::move(element.value));
  return Value::list(std::move(sorted));
}

Value dict_sort(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "dictsort", arguments,
                         {"value", "case_sensitive", "by", "reverse"}, 1);
  if (!given) return {};
  const std::string by(given.text(2, "key").bytes());
  if (by != "key" && by != "value")
    return rendering.fail("You can only sort by either \"key\" or \"value\"");
  if (given[0].is_undefined()) return rendering.fail(given[0].undefined_message());
  if (given[0].kind() != Value::Kind::kDict)
    return rendering.fail("dictsort() takes a dict, not a " + given[0].type_name());
  std::vector<Keyed> keyed;
  for (const Dict::Entry& entry : given[0].dict().entries()) {
    const Value& key = by == "key" ? entry.first : entry.second;
    keyed.push_back({given.truth(1, false) ? key : without_case(rendering, key), item_of(entry)});
  }
  sort_by_keys(rendering, keyed, given.truth(3, false));
  Elements sorted;
  for (Keyed& element : keyed) sorted.push_back(std::move(element.value));
  return Value::list(std::move(sorted));
}

Value group_by(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "groupby", arguments,
                         {"value", "attribute", "default", "case_sensitive"}, 2);
  if (!given) return {};
  const AttributePath path(rendering, given[1]);
  const bool case_sensitive = given.truth(3, false);
  std::vector<Keyed> keyed;
  for_each_value(rendering, given[0], [&](const Value& value) {
    const Value key = path.of(rendering, value, given[2]);
    keyed.push_back({case_sensitive ? key : without_case(rendering, key), value});
    return true;
  });
  sort_by_keys(rendering, keyed, false);
  Elements groups;
  for (std::size_t begin = 0; begin < keyed.size() && !rendering.failed();) {
    Elements members;
    std::size_t end = begin;
    for (; end < keyed.size() && rendering.are_equal(keyed[end].key, keyed[begin].key); ++end)
      members.push_back(keyed[end].value);
    end = std::max(end, begin + 1);  // NaN is not equal to itself
    Value grouper = path.of(rendering, keyed[begin].value, given[2]);
    groups.push_back(Value::object(
        std::make_shared<Group>(std::move(grouper), Value::list(std::move(members)))));
    begin = end;
  }
  return rendering.checked(Value::list(std::move(groups)));
}

template <bool largest>
Value extreme(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, largest ? "max" : "min", arguments,
                         {"value", "case_sensitive", "attribute"}, 1);
  if (!given) return {};
  const AttributePath path(rendering, given[2]);
  std::optional<Keyed> found;
  for_each_value(rendering, given[0], [&](const Value& value) {
    const Value attribute = path.of(rendering, value);
    const Value key = given.truth(1, false) ? attribute : without_case(rendering, attribute);
    const bool better =
        !found || (largest ? less(rendering, found->key, key) : less(rendering, key, found->key));
    if (better) found = Keyed{key, value};
    return true;
  });
  return found ? found->value : Value::undefined("No aggregated item, sequence was empty.");
}

Value sum(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "sum", arguments, {"iterable", "attribute", "start"}, 1);
  if (!given) return {};
  const AttributePath path(rendering, given[1]);
  Value total = given.has(2) ? given[2] : Value::integer(0);
  if (total.is_string()) return rendering.fail("sum() can't sum strings");
  for_each_value(rendering, given[0], [&](const Value& value) {
    total = binary(rendering, BinaryOperator::kAdd, total, path.of(rendering, value));
    return true;
  });
  return total;
}

Value items(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "items", arguments, {"value"}, 1);
  if (!given) return {};
  const Value dict = given[0];
  const auto next = [dict, i = std::size_t{0}](Rendering& run) mutable -> std::optional<Value> {
    if (dict.is_undefined()) return std::nullopt;
    if (dict.kind() != Value::Kind::kDict) {
      run.fail("Can only get item pairs from a mapping.");
      return std::nullopt;
    }
    const auto& entries = dict.dict().entries();
    return i < entries.size() ? std::optional(item_of(entries[i++])) : std::nullopt;
  };
  return as_value(rendering, make_iterator(dict.depth(), next));
}

// An iterator over the values of an iterable, which is looked at when the first is wanted; of those
// that are false there are none.
class Source {
 public:
  explicit Source(Value iterable) : iterable_(std::move(iterable)) {}
  std::optional<Value> next(Rendering& rendering) {
    if (!started_ && iterable_.is_true()) iterator_ = iterate_or_fail(rendering, iterable_);
    started_ = true;
    return iterator_ ? next_of(rendering, *iterator_) : std::nullopt;
  }

 private:
  Value iterable_;
  std::shared_ptr<Iterator> iterator_;
  bool started_ = false;
};

// The arguments of a filter or test for one value: those behind the first `dropped`.
Arguments arguments_for(const Value& value, const Arguments& arguments, std::size_t dropped) {
  Arguments call = arguments;
  call.positional.erase(call.positional.begin(),
                        call.positional.begin() + static_cast<std::ptrdiff_t>(dropped));
  call.positional[0] = value;
  return call;
}

// map(attribute=...).
Value map_attribute(Rendering& rendering, const Value& iterable, const Arguments& arguments) {
  const Value* const otherwise = arguments.find("default");
  if (arguments.named.size() > (otherwise == nullptr ? 1 : 2))
    return rendering.fail("map() has an argument that it does not take");
  const auto next = [source = Source(iterable),
                     path = AttributePath(rendering, *arguments.find("attribute")),
                     filler = otherwise == nullptr ? Value() : *otherwise](
                        Rendering& run) mutable -> std::optional<Value> {
    std::optional<Value> value = source.next(run);
    return value ? std::optional(path.of(run, *value, filler)) : std::nullopt;
  };
  return as_value(rendering, make_iterator(iterable.depth(), next));
}

// The value that a filter makes of one, the second of the arguments.
Value mapped(Rendering& rendering, const Value& value, const Arguments& arguments) {
  if (arguments.positional.size() < 2) return rendering.fail("map requires a filter argument");
  const Value& name = arguments.positional[1];
  const Filter filter = name.is_string() ? filter_named(name.bytes()) : nullptr;
  if (filter != nullptr) return filter(rendering, arguments_for(value, arguments, 1));
  return rendering.fail("No filter named " + quoted(str_of(rendering, name).bytes()));
}

Value map(Rendering& rendering, const Arguments& arguments) {
  if (arguments.positional.empty()) return rendering.fail("map() lacks its value");
  const Value& iterable = arguments.positional[0];
  if (arguments.positional.size() == 1 && arguments.find("attribute") != nullptr)
    return map_attribute(rendering, iterable, arguments);
  const auto next = [source = Source(iterable),
                     arguments](Rendering& run) mutable -> std::optional<Value> {
    std::optional<Value> value = source.next(run);
    return value ? std::optional(mapped(run, *value, arguments)) : std::nullopt;
  };
  return as_value(rendering, make_iterator(iterable.depth(), next));
}

// Whether a value passes the test among the arguments of select and its like: the second, or the
// third behind the name of an attribute. Without one it is true or not.
template <bool of_attribute>
bool passes(Rendering& rendering, const Value& value, const Arguments& arguments) {
  constexpr std::size_t kName = of_attribute ? 2 : 1;
  const Elements& positional = arguments.positional;
  if (positional.size() < kName) {
    rendering.fail("Missing parameter for attribute name");
    return false;
  }
  const Value tested =
      of_attribute ? AttributePath(rendering, positional[1]).of(rendering, value) : value;
  if (positional.size() == kName) return tested.is_true();
  const Value& name = positional[kName];
  const Test test = name.is_string() ? test_named(name.bytes()) : nullptr;
  if (test != nullptr) return test(rendering, arguments_for(tested, arguments, kName));
  rendering.fail("No test named " + quoted(str_of(rendering, name).bytes()));
  return false;
}

// What select and its like do: `keep` those whose test says so, or whose does not; of the value, or
// of an attribute.
template <bool keep, bool of_attribute>
Value select(Rendering& rendering, const Arguments& arguments) {
  if (arguments.positional.empty()) return rendering.fail("select() lacks its value");
  const Value& iterable = arguments.positional[0];
  const auto next = [source = Source(iterable),
                     arguments](Rendering& run) mutable -> std::optional<Value> {
    while (std::optional<Value> value = source.next(run)) {
      if (passes<of_attribute>(run, *value, arguments) == keep) return value;
    }
    return std::nullopt;
  };
  return as_value(rendering, make_iterator(iterable.depth(), next));
}

Value unique(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "unique", arguments, {"value", "case_sensitive", "attribute"},
                         1);
  if (!given) return {};
  const auto next = [iterator = std::shared_ptr<Iterator>(), iterable = given[0],
                     path = AttributePath(rendering, given[2]),
                     case_sensitive = given.truth(1, false),
                     seen = Dict()](Rendering& run) mutable -> std::optional<Value> {
    if (!iterator) iterator = iterate_or_fail(run, iterable);
    while (iterator) {
      std::optional<Value> value = next_of(run, *iterator);
      if (!value) return std::nullopt;
      const Value attribute = path.of(run, *value);
      const Value key = case_sensitive ? attribute : without_case(run, attribute);
      if (!run.is_key(key)) return run.fail("unhashable type: '" + key.type_name() + "'");
      if (seen.find(key) != nullptr) continue;
      seen.set(key, Value());
      return value;
    }
    return std::nullopt;
  };
  return as_value(rendering, make_iterator(given[0].depth(), next));
}

Value batch(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "batch", arguments, {"value", "linecount", "fill_with"}, 2);
  if (!given) return {};
  const Elements all = elements_of(rendering, given[0]);
  const std::int64_t count = given.integer(1, 0);
  Elements lines;
  Elements line;
  const auto is_full = [&] { return static_cast<std::int64_t>(line.size()) == count; };
  for (const Value& value : all) {
    if (is_full()) lines.push_back(Value::list(std::exchange(line, {})));
    line.push_back(value);
  }
  if (!line.empty()) {
    const std::int64_t missing = count - static_cast<std::int64_t>(line.size());
    if (!given[2].is_none() && missing > 0) {
      if (!rendering.may_make_list(static_cast<std::size_t>(missing))) return {};
      line.insert(line.end(), static_cast<std::size_t>(missing), given[2]);
    }
    lines.push_back(Value::list(std::move(line)));
  }
  const Value value = rendering.checked(Value::list(std::move(lines)));
  return rendering.failed() ? Value() : as_value(rendering, iterate(value));
}

Value slice_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "slice", arguments, {"value", "slices", "fill_with"}, 2);
  if (!given) return {};
  const Elements all = elements_of(rendering, given[0]);
  const std::int64_t count = given.integer(1, 0);
  if (count == 0) return rendering.fail("integer division or modulo by zero");
  if (count > 0 && !rendering.may_make_list(static_cast<std::size_t>(count))) return {};
  const auto size = static_cast<std::int64_t>(all.size());
  Elements slices;
  auto next = all.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    const bool longer = i < size % count;
    const auto end = next + size / count + (longer ? 1 : 0);
    Elements part(next, end);
    if (!given[2].is_none() && !longer) part.push_back(given[2]);
    slices.push_back(Value::list(std::move(part)));
    next = end;
  }
  const Value value = rendering.checked(Value::list(std::move(slices)));
  return rendering.failed() ? Value() : as_value(rendering, iterate(value));
}

constexpr auto kSequenceFilters = std::to_array<NamedFilter>({
    {"batch", batch},
    {"count", length},
    {"dictsort", dict_sort},
    {"first", first},
    {"groupby", group_by},
    {"items", items},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"slice", slice_filter},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
});

}  // namespace

Filter sequence_filter(std::string_view name) {
  const auto* const found = std::ranges::find(kSequenceFilters, name, &NamedFilter::name);
  return found == kSequenceFilters.end() ? nullptr : found->filter;
}

}  // namespace polystate::chat_template
