#include "pipeline/tag_format.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "response/json_value.h"

namespace polystate::tag_format {
namespace {

using response::json_string;

std::string object(std::string_view type, std::string_view members) {
  return R"({"type": )" + json_string(type) + ", " + std::string(members) + "}";
}

// A list of JSON texts, but for those that are empty.
template <typename List, typename Text>
std::string list_of(const List& elements, Text text) {
  std::string list;
  for (const auto& element : elements) {
    const std::string json = text(element);
    if (json.empty()) continue;
    list += (list.empty() ? "" : ", ") + json;
  }
  return "[" + list + "]";
}

std::string quoted(std::initializer_list<std::string_view> texts) {
  return list_of(texts, [](std::string_view text) { return json_string(text); });
}

std::string joined(std::string_view type, const std::vector<std::string>& formats) {
  return object(
      type, R"("elements": )" + list_of(formats, [](const std::string& format) { return format; }));
}

}  // namespace

std::string literal(std::string_view text) {
  return object("const_string", R"("value": )" + json_string(text));
}

std::string regex(std::string_view pattern) {
  return object("regex", R"("pattern": )" + json_string(pattern));
}

std::string text_without(std::initializer_list<std::string_view> excluded) {
  return object("any_text", R"("excludes": )" + quoted(excluded));
}

std::string free_text(const std::vector<Rule>& rules,
                      std::initializer_list<std::string_view> excluded) {
  if (rules.empty()) return text_without(excluded);
  const std::string pairs = list_of(rules, [](const Rule& rule) {
    return "[" + json_string(rule.begin) + ", " + rule.rest + "]";
  });
  return object("dispatch",
                R"("loop": true, "rules": )" + pairs + R"(, "excludes": )" + quoted(excluded));
}

std::string optional(std::string_view format) {
  return object("optional", R"("content": )" + std::string(format));
}

std::string repeated(std::string_view format, int least, int most) {
  return object("repeat", R"("min": )" + std::to_string(least) + R"(, "max": )" +
                              std::to_string(most) + R"(, "content": )" + std::string(format));
}

std::string one_of(const std::vector<std::string>& formats) { return joined("or", formats); }

std::string sequence(const std::vector<std::string>& formats) {
  return joined("sequence", formats);
}

std::string structural_tag(std::string_view format) {
  return object("structural_tag", R"("format": )" + std::string(format));
}

}  // namespace polystate::tag_format
