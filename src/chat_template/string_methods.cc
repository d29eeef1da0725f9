#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/arguments.h"
#include "chat_template/brace_format.h"
#include "chat_template/characters.h"
#include "chat_template/methods.h"
#include "chat_template/number_format.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/string_functions.h"
#include "chat_template/string_positions.h"
#include "chat_template/string_search.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

// A text made of another one: marked as it is.
Value like(const Value& self, Text text) {
  return self.is_markup() ? Value::markup(std::move(text)) : Value::string(std::move(text));
}

Value list_like(Rendering& rendering, const Value& self, std::vector<Text> texts) {
  if (!rendering.may_make_list(texts.size())) return {};
  Elements elements;
  elements.reserve(texts.size());
  for (Text& text : texts) elements.push_back(like(self, std::move(text)));
  return Value::list(std::move(elements));
}

template <Text (*change)(const Text&)>
Value changed(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "str method", arguments, {}, 0);
  if (!given || !rendering.may_make_text(self.text().size())) return {};
  return like(self, change(self.text()));
}

template <Sides sides>
Value stripped(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "strip", arguments, {"/chars"}, 0);
  if (!given) return {};
  const bool some = given.has(0) && !given[0].is_none();
  const Text characters = some ? given.text(0, "") : Text();
  const std::size_t work = self.text().size() * (1 + characters.size() / 64);
  if (rendering.failed() || !rendering.may_make_text(work)) return {};
  return like(self,
              strip(self.text(), some ? std::optional(characters.bytes()) : std::nullopt, sides));
}

template <bool from_end>
Value split_at(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "split", arguments, {"sep", "maxsplit"}, 0);
  if (!given) return {};
  const bool some = given.has(0) && !given[0].is_none();
  const Text separator = some ? given.text(0, "") : Text();
  const std::int64_t most = given.integer(1, -1);
  if (some && separator.empty()) return rendering.fail("empty separator");
  if (rendering.failed() || !rendering.may_make_text(self.text().size())) return {};
  return list_like(rendering, self,
                   split(rendering, self.text(),
                         some ? std::optional(separator.bytes()) : std::nullopt, most, from_end));
}

Value lines_of(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "splitlines", arguments, {"keepends"}, 0);
  if (!given || !rendering.may_make_text(self.text().size())) return {};
  return list_like(rendering, self, split_lines(rendering, self.text(), given.truth(0, false)));
}

// The bytes of a text from one character up to another, as Python counts them: from the end where
// they are negative. None where there is no such part.
std::optional<std::pair<std::size_t, std::size_t>> window(const Value& self,
                                                          const Parameters& given,
                                                          std::size_t first) {
  const std::optional<std::int64_t> start = given.optional_integer(first);
  const std::optional<std::int64_t> stop = given.optional_integer(first + 1);
  const std::string_view bytes = self.bytes();
  if (!start && !stop) return std::pair(std::size_t{0}, bytes.size());
  const StringPositions positions(bytes);
  const auto bound = [&](std::int64_t index) {
    return std::max<std::int64_t>(index < 0 ? index + positions.count() : index, 0);
  };
  const std::int64_t begin = bound(start.value_or(0));
  const std::int64_t end = std::min(bound(stop.value_or(positions.count())), positions.count());
  if (begin > end) return std::nullopt;
  return std::pair(positions.byte_of(begin), positions.byte_of(end));
}

// The character at which a text has `part`; none: it has not.
std::optional<std::int64_t> place_of(Rendering& rendering, const Value& self,
                                     const Arguments& arguments, bool last) {
  const Parameters given(rendering, "find", arguments, {"/sub", "/start", "/end"}, 1);
  if (!given || !rendering.may_read_text(self.text().size())) return std::nullopt;
  const Text part = given.text(0, "");
  const auto range = window(self, given, 1);
  if (!range || rendering.failed()) return std::nullopt;
  const std::string_view inside = self.bytes().substr(0, range->second).substr(range->first);
  const std::size_t found =
      last ? find_last_text(inside, part.bytes()) : find_text(inside, part.bytes(), 0);
  if (found == std::string_view::npos) return std::nullopt;
  return static_cast<std::int64_t>(count_characters(self.bytes().substr(0, range->first + found)));
}

template <bool last>
Value find_place(Rendering& rendering, const Value& self, const Arguments& arguments) {
  return Value::integer(place_of(rendering, self, arguments, last).value_or(-1));
}

template <bool last>
Value index_place(Rendering& rendering, const Value& self, const Arguments& arguments) {
  if (const auto place = place_of(rendering, self, arguments, last)) return Value::integer(*place);
  return rendering.fail("substring not found");
}

Value count_places(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "count", arguments, {"/sub", "/start", "/end"}, 1);
  if (!given || !rendering.may_read_text(self.text().size())) return {};
  const Text part = given.text(0, "");
  const auto range = window(self, given, 1);
  if (!range || rendering.failed()) return Value::integer(0);
  return Value::integer(
      count(self.bytes().substr(range->first, range->second - range->first), part.bytes()));
}

template <bool at_end>
Value has_affix(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, at_end ? "endswith" : "startswith", arguments,
                         {"/affix", "/start", "/end"}, 1);
  if (!given || !rendering.may_read_text(self.text().size())) return {};
  const auto range = window(self, given, 1);
  const bool many = given[0].kind() == Value::Kind::kTuple;
  const Elements affixes = many ? given[0].elements() : Elements{given[0]};
  if (!rendering.spend(affixes.size())) return {};
  bool found = false;
  for (const Value& affix : affixes) {
    if (!affix.is_string()) {
      return rendering.fail(std::string(at_end ? "endswith" : "startswith") +
                            " takes a str or a tuple of str, not a " + affix.type_name());
    }
    if (!range || found) continue;
    const std::string_view inside = self.bytes().substr(range->first, range->second - range->first);
    found = at_end ? inside.ends_with(affix.bytes()) : inside.starts_with(affix.bytes());
  }
  return Value::boolean(found);
}

template <bool at_end>
Value without_affix(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "removeprefix", arguments, {"/affix"}, 1);
  if (!given || !rendering.may_make_text(self.text().size())) return {};
  const Text affix = given.text(0, "");
  const Text& text = self.text();
  const bool has =
      at_end ? text.bytes().ends_with(affix.bytes()) : text.bytes().starts_with(affix.bytes());
  if (!has) return self;
  return at_end ? like(self, part_of(text, 0, text.size() - affix.size()))
                : like(self, part_of(text, affix.size(), text.size()));
}

Value replaced(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "replace", arguments, {"/old", "/new", "/count"}, 2);
  if (!given) return {};
  const auto part = [&](std::size_t i) {
    const Text text = given.text(i, "");
    return self.is_markup() && !given[i].is_markup() ? escaped_html(text) : text;
  };
  const Text old = part(0);
  const Text by = part(1);
  const std::int64_t most = given.integer(2, -1);
  if (rendering.failed()) return {};
  return like(self, replace(rendering, self.text(), old.bytes(), by, most));
}

Value joined(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "join", arguments, {"/iterable"}, 1);
  if (!given) return {};
  if (self.is_markup()) return rendering.fail("join() of texts marked as safe is not supported");
  TextBuilder text;
  bool first = true;
  for_each_value(rendering, given[0], [&](const Value& value) {
    if (!value.is_string()) {
      rendering.fail("join() takes str, not a " + value.type_name());
      return false;
    }
    if (!first) text.append(self.text());
    first = false;
    text.append(value.text());
    return rendering.fits(text.size());
  });
  if (!rendering.may_make_text(text.size())) return {};
  return Value::string(text.take());
}

// With `fill` on both sides, or one, up to a width.
template <char align>
Value padded(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "str method", arguments, {"/width", "/fillchar"}, 1);
  if (!given) return {};
  NumberFormat format;
  format.width = given.integer(0, 0);
  const Text fill = given.text(1, " ");
  if (count_characters(fill.bytes()) != 1)
    return rendering.fail("The fill character must be exactly one character long");
  format.fill = fill.bytes();
  format.align = align;
  if (align == '^') {
    // Python's center() puts the odd one to the left where the width is odd.
    const std::int64_t missing = std::max<std::int64_t>(
        format.width - static_cast<std::int64_t>(count_characters(self.bytes())), 0);
    if (missing % 2 == 1 && format.width % 2 == 1) {
      NumberFormat left = format;
      left.align = '>';
      left.width = format.width - missing + missing / 2 + 1;
      format.align = '<';
      return like(self, padded_text(rendering, padded_text(rendering, self.text(), left), format));
    }
  }
  return like(self, padded_text(rendering, self.text(), format));
}

Value zero_filled(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "zfill", arguments, {"/width"}, 1);
  if (!given) return {};
  const Text& text = self.text();
  const bool has_sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  NumberFormat format;
  format.width = given.integer(0, 0) - (has_sign ? 1 : 0);
  format.fill = "0";
  format.align = '>';
  TextBuilder filled;
  filled.append(text, 0, has_sign ? 1 : 0);
  filled.append(padded_text(rendering, part_of(text, has_sign ? 1 : 0, text.size()), format));
  return like(self, filled.take());
}

Value with_spaces(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "expandtabs", arguments, {"tabsize"}, 0);
  if (!given || !rendering.may_make_text(self.text().size())) return {};
  const std::int64_t size = given.integer(0, 8);
  const std::string_view bytes = self.bytes();
  TextBuilder text;
  std::int64_t column = 0;
  for (std::size_t i = 0; i < bytes.size() && rendering.fits(text.size());) {
    const std::size_t end = i + character_size(bytes[i]);
    if (bytes[i] != '\t') {
      text.append(self.text(), i, end);
      column = bytes[i] == '\n' || bytes[i] == '\r' ? 0 : column + 1;
    } else if (size > 0) {
      const std::int64_t spaces = size - column % size;
      if (!rendering.may_make_text(static_cast<std::size_t>(spaces))) return {};
      text.append(std::string(static_cast<std::size_t>(spaces), ' '), self.text().origin_at(i));
      column += spaces;
    }
    i = end;
  }
  return like(self, text.take());
}

template <bool last>
Value partitioned(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "partition", arguments, {"/sep"}, 1);
  if (!given) return {};
  const Text separator = given.text(0, "");
  if (rendering.failed()) return {};
  if (separator.empty()) return rendering.fail("empty separator");
  const Text& text = self.text();
  const std::size_t found = last ? find_last_text(text.bytes(), separator.bytes())
                                 : find_text(text.bytes(), separator.bytes(), 0);
  if (!rendering.may_make_text(text.size())) return {};
  if (found == std::string_view::npos) {
    const Value empty = like(self, Text());
    return last ? Value::tuple({empty, empty, self}) : Value::tuple({self, empty, empty});
  }
  const std::size_t end = found + separator.size();
  return Value::tuple({like(self, part_of(text, 0, found)), like(self, part_of(text, found, end)),
                       like(self, part_of(text, end, text.size()))});
}

template <bool (*has)(char32_t)>
bool all(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    if (!has(character.code_point)) return false;
    i += character.size;
  }
  return true;
}

template <bool (*has)(std::string_view)>
Value tested(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "str method", arguments, {}, 0);
  if (!given || !rendering.may_read_text(self.text().size())) return {};
  return Value::boolean(has(self.bytes()));
}

template <bool (*has)(char32_t)>
bool some_and_all(std::string_view text) {
  return !text.empty() && all<has>(text);
}

bool is_ascii(std::string_view text) { return ascii_prefix(text) == text.size(); }

bool is_identifier_text(std::string_view text) {
  if (text.empty() || !is_identifier_start(character_at(text, 0).code_point)) return false;
  return all<is_identifier_part>(text.substr(character_size(text[0])));
}

// Whether words begin with an upper-case letter, and go on in lower case.
bool is_title_text(std::string_view text) {
  bool after_cased = false;
  bool found = false;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    const char32_t code_point = character.code_point;
    const bool begins = is_upper(code_point) || is_title(code_point);
    if (begins == after_cased && (begins || is_lower(code_point))) return false;
    after_cased = begins || is_lower(code_point);
    found = found || after_cased;
    i += character.size;
  }
  return found;
}

Value format_braces(Rendering& rendering, const Value& self, const Arguments& arguments) {
  return brace_format(rendering, self, arguments);
}

Value format_map(Rendering& rendering, const Value& self, const Arguments& arguments) {
  const Parameters given(rendering, "format_map", arguments, {"/mapping"}, 1);
  if (!given) return {};
  if (given[0].kind() != Value::Kind::kDict)
    return rendering.fail("format_map() takes a dict, not a " + given[0].type_name());
  Arguments named;
  for (const auto& [key, value] : given[0].dict().entries()) {
    if (!key.is_string()) continue;
    if (!rendering.may_make_text(key.text().size())) return {};
    named.named.emplace_back(key.bytes(), value);
  }
  return brace_format(rendering, self, named);
}

Value fold_case(Rendering& rendering, const Value& self, const Arguments& arguments) {
  if (!rendering.may_read_text(self.text().size())) return {};
  if (is_ascii(self.bytes())) return changed<lower>(rendering, self, arguments);
  return rendering.fail("casefold() is supported for ASCII texts only");
}

Value unsupported(Rendering& rendering, const Value& /*self*/, const Arguments& /*arguments*/) {
  return rendering.fail("encode(), maketrans() and translate() are not supported");
}

constexpr auto kMethods = std::to_array<Method>({
    {"capitalize", changed<capitalize>},
    {"casefold", fold_case},
    {"center", padded<'^'>},
    {"count", count_places},
    {"encode", unsupported},
    {"endswith", has_affix<true>},
    {"expandtabs", with_spaces},
    {"find", find_place<false>},
    {"format", format_braces},
    {"format_map", format_map},
    {"index", index_place<false>},
    {"isalnum", tested<some_and_all<is_alphanumeric>>},
    {"isalpha", tested<some_and_all<is_alphabetic>>},
    {"isascii", tested<is_ascii>},
    {"isdecimal", tested<some_and_all<is_decimal>>},
    {"isdigit", tested<some_and_all<is_digit>>},
    {"isidentifier", tested<is_identifier_text>},
    {"islower", tested<is_lower_text>},
    {"isnumeric", tested<some_and_all<is_numeric>>},
    {"isprintable", tested<all<is_printable>>},
    {"isspace", tested<some_and_all<is_space>>},
    {"istitle", tested<is_title_text>},
    {"isupper", tested<is_upper_text>},
    {"join", joined},
    {"ljust", padded<'<'>},
    {"lower", changed<lower>},
    {"lstrip", stripped<Sides::kLeft>},
    {"maketrans", unsupported},
    {"partition", partitioned<false>},
    {"removeprefix", without_affix<false>},
    {"removesuffix", without_affix<true>},
    {"replace", replaced},
    {"rfind", find_place<true>},
    {"rindex", index_place<true>},
    {"rjust", padded<'>'>},
    {"rpartition", partitioned<true>},
    {"rsplit", split_at<true>},
    {"rstrip", stripped<Sides::kRight>},
    {"split", split_at<false>},
    {"splitlines", lines_of},
    {"startswith", has_affix<false>},
    {"strip", stripped<Sides::kBoth>},
    {"swapcase", changed<swap_case>},
    {"title", changed<title>},
    {"translate", unsupported},
    {"upper", changed<upper>},
    {"zfill", zero_filled},
});

}  // namespace

const Method* string_method(std::string_view name) {
  const auto* const found = std::ranges::find(kMethods, name, &Method::name);
  return found == kMethods.end() ? nullptr : found;
}

}  // namespace polystate::chat_template
