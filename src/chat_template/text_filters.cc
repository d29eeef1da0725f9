#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/arguments.h"
#include "chat_template/attribute_path.h"
#include "chat_template/characters.h"
#include "chat_template/filters.h"
#include "chat_template/methods.h"
#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/percent_format.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/string_functions.h"
#include "chat_template/string_positions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

// The value as a text; a text that is marked as safe stays so.
Value soft_string(Rendering& rendering, const Value& value) {
  return value.is_string() ? value : Value::string(str_of(rendering, value));
}

// The method of a text that does what a filter does.
Value call_method(Rendering& rendering, std::string_view name, const Value& value,
                  Elements arguments) {
  const Value text = soft_string(rendering, value);
  if (rendering.failed()) return {};
  return string_method(name)->call(rendering, text, {std::move(arguments), {}});
}

template <char first_letter>
Value case_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "filter", arguments, {"s"}, 1);
  if (!given) return {};
  constexpr std::string_view kName = first_letter == 'u'   ? "upper"
                                     : first_letter == 'l' ? "lower"
                                                           : "capitalize";
  return call_method(rendering, kName, given[0], {});
}

bool begins_word(char32_t c) {
  return c == '-' || is_space(c) || c == '(' || c == '{' || c == '[' || c == '<';
}

// Words begin after space, '-' and opening brackets.
Value title_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "title", arguments, {"s"}, 1);
  if (!given) return {};
  const Value string = soft_string(rendering, given[0]);
  if (rendering.failed() || !rendering.may_make_text(string.text().size())) return {};
  const Text& text = string.text();
  const std::string_view bytes = text.bytes();
  TextBuilder result;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t second = begin + character_size(bytes[begin]);
    const bool between = begins_word(character_at(bytes, begin).code_point);
    std::size_t end = second;
    while (end < bytes.size() && begins_word(character_at(bytes, end).code_point) == between)
      end += character_size(bytes[end]);
    result.append(upper(part_of(text, begin, second)));
    result.append(lower(part_of(text, second, end)));
    begin = end;
  }
  return Value::string(result.take());
}

Value trim(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "trim", arguments, {"value", "chars"}, 1);
  if (!given) return {};
  return call_method(rendering, "strip", given[0], {given[1]});
}

Value replace_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "replace", arguments, {"s", "old", "new", "count"}, 3);
  if (!given) return {};
  const std::int64_t most = given.has(3) && !given[3].is_none() ? given.integer(3, -1) : -1;
  const Text old = str_of(rendering, given[1]);
  const Text by = str_of(rendering, given[2]);
  const Text text = str_of(rendering, given[0]);
  if (rendering.failed()) return {};
  return Value::string(replace(rendering, text, old.bytes(), by, most));
}

Value string_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "string", arguments, {"/s"}, 1);
  return given ? soft_string(rendering, given[0]) : Value();
}

Value format_filter(Rendering& rendering, const Arguments& arguments) {
  if (arguments.positional.empty()) return rendering.fail("format() lacks its value");
  const Elements& positional = arguments.positional;
  if (positional.size() > 1 && !arguments.named.empty()) {
    return rendering.fail("can't handle positional and keyword arguments at the same time");
  }
  const Value format = soft_string(rendering, positional[0]);
  if (arguments.named.empty()) {
    return percent_format(rendering, format,
                          Value::tuple(Elements(positional.begin() + 1, positional.end())));
  }
  Dict named;
  for (const auto& [name, value] : arguments.named) named.set(Value::string(name), value);
  return percent_format(rendering, format, Value::dict(std::move(named)));
}

Value join_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "join", arguments, {"value", "d", "attribute"}, 1);
  if (!given) return {};
  const Text separator = given.has(1) ? str_of(rendering, given[1]) : Text();
  const AttributePath path(rendering, given[2]);
  TextBuilder text;
  bool first = true;
  for_each_value(rendering, given[0], [&](const Value& value) {
    if (!first) text.append(separator);
    first = false;
    text.append(str_of(rendering, path.of(rendering, value)));
    return rendering.fits(text.size());
  });
  if (!rendering.may_make_text(text.size())) return {};
  return Value::string(text.take());
}

Value indent_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "indent", arguments, {"s", "width", "first", "blank"}, 1);
  if (!given) return {};
  if (!given[0].is_string()) {
    return rendering.fail(given[0].is_undefined()
                              ? given[0].undefined_message()
                              : "indent() takes a str, not a " + given[0].type_name());
  }
  Text indentation;
  if (given.has(1) && given[1].is_string()) {
    indentation = given[1].text();
  } else {
    const std::int64_t width = std::max<std::int64_t>(given.integer(1, 4), 0);
    if (!rendering.may_make_text(static_cast<std::size_t>(width))) return {};
    indentation = Text(std::string(static_cast<std::size_t>(width), ' '), Origin::kTemplate);
  }
  // One line break more, so that a last line that is empty counts.
  TextBuilder whole;
  whole.append(given[0].text());
  whole.append("\n", Origin::kTemplate);
  const std::vector<Text> lines = split_lines(rendering, whole.take(), false);
  TextBuilder result;
  for (std::size_t i = 0; i < lines.size() && rendering.fits(result.size()); ++i) {
    if (i > 0) result.append("\n", Origin::kTemplate);
    const bool indents =
        i == 0 ? given.truth(2, false) : !lines[i].empty() || given.truth(3, false);
    if (indents) result.append(indentation);
    result.append(lines[i]);
  }
  if (!rendering.may_make_text(result.size())) return {};
  return Value::string(result.take());
}

Value center_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "center", arguments, {"value", "width"}, 1);
  if (!given) return {};
  return call_method(rendering, "center", given[0], {given.has(1) ? given[1] : Value::integer(80)});
}

Value truncate(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "truncate", arguments,
                         {"s", "length", "killwords", "end", "leeway"}, 1);
  if (!given) return {};
  const Text end = given.text(3, "...");
  const std::int64_t length = given.integer(1, 255);
  const std::int64_t leeway = given.has(4) && !given[4].is_none() ? given.integer(4, 5) : 5;
  const auto end_size = static_cast<std::int64_t>(count_characters(end.bytes()));
  if (rendering.failed()) return {};
  if (length < end_size || leeway < 0)
    return rendering.fail("truncate() has a length or leeway that is too small");
  if (!given[0].is_string()) {
    if (length_of(rendering, given[0]) <= length + leeway) return given[0];
    return rendering.fail("truncate() takes a str, not a " + given[0].type_name());
  }
  const Text& text = given[0].text();
  if (!rendering.may_read_text(text.size())) return {};
  const StringPositions positions(text.bytes());
  if (positions.count() <= length + leeway) return given[0];
  if (!rendering.may_make_text(text.size())) return {};
  std::size_t cut = positions.byte_of(length - end_size);
  if (!given.truth(2, false)) {
    const std::size_t space = text.bytes().substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  TextBuilder result;
  result.append(text, 0, cut);
  result.append(end);
  return Value::string(result.take());
}

Value word_count(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "wordcount", arguments, {"s"}, 1);
  if (!given) return {};
  const Value string = soft_string(rendering, given[0]);
  if (rendering.failed() || !rendering.may_make_text(string.text().size())) return {};
  std::int64_t count = 0;
  bool in_word = false;
  const std::string_view bytes = string.bytes();
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Character character = character_at(bytes, i);
    const bool word = is_alphanumeric(character.code_point) || character.code_point == '_';
    if (word && !in_word) ++count;
    in_word = word;
    i += character.size;
  }
  return Value::integer(count);
}

Value mark_safe(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "safe", arguments, {"value"}, 1);
  if (!given) return {};
  return Value::markup(str_of(rendering, given[0]));
}

template <bool forced>
Value escape_filter(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "escape", arguments, {"s"}, 1);
  if (!given) return {};
  if (given[0].is_markup() && !forced) return given[0];
  const Text text = str_of(rendering, given[0]);
  if (!rendering.may_make_text(text.size() * 5)) return {};
  return Value::markup(escaped_html(text));
}

Value url_encode(Rendering& rendering, const Arguments& arguments) {
  const Parameters given(rendering, "urlencode", arguments, {"value"}, 1);
  if (!given) return {};
  if (!given[0].is_string() && iterate(given[0]) != nullptr)
    return rendering.fail("urlencode() is supported for texts only");
  const Text text = str_of(rendering, given[0]);
  if (!rendering.may_make_text(text.size() * 3)) return {};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  TextBuilder result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text.bytes()[i]);
    const bool kept =
        (byte < 0x80 && is_alphanumeric(byte)) ||
        std::string_view("_.-~/").find(static_cast<char>(byte)) != std::string_view::npos;
    if (kept) {
      result.append(text, i, i + 1);
    } else {
      result.append(std::string{'%', kDigits[byte >> 4U], kDigits[byte & 0xFU]}, text.origin_at(i));
    }
  }
  return Value::string(result.take());
}

Value unsupported(Rendering& rendering, const Arguments& /*arguments*/) {
  return rendering.fail(
      "the filters filesizeformat, pprint, random, striptags, urlize, wordwrap and xmlattr are "
      "not supported");
}

constexpr auto kTextFilters = std::to_array<NamedFilter>({
    {"capitalize", case_filter<'c'>},
    {"center", center_filter},
    {"e", escape_filter<false>},
    {"escape", escape_filter<false>},
    {"filesizeformat", unsupported},
    {"forceescape", escape_filter<true>},
    {"format", format_filter},
    {"indent", indent_filter},
    {"join", join_filter},
    {"lower", case_filter<'l'>},
    {"pprint", unsupported},
    {"random", unsupported},
    {"replace", replace_filter},
    {"safe", mark_safe},
    {"string", string_filter},
    {"striptags", unsupported},
    {"title", title_filter},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", case_filter<'u'>},
    {"urlencode", url_encode},
    {"urlize", unsupported},
    {"wordcount", word_count},
    {"wordwrap", unsupported},
    {"xmlattr", unsupported},
});

}  // namespace

Filter text_filter(std::string_view name) {
  const auto* const found = std::ranges::find(kTextFilters, name, &NamedFilter::name);
  return found == kTextFilters.end() ? nullptr : found->filter;
}

}  // namespace polystate::chat_template
