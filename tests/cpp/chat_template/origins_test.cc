// Where each character came from survives what a template does to it.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/render.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// A rendered text with [brackets] around what is the user's.
std::string shown(std::string_view source) {
  const RenderedText rendered =
      polystate::rendered(source, R"({"x": "User", "s": " pad ", "l": ["ab", "cd"], "n": 12,
                                      "d": {"k": "v"}, "e": "été", "q": "a\"\nb"})")
          .value();
  std::string text;
  std::size_t at = 0;
  for (const ByteRange& range : rendered.users) {
    text += rendered.text.substr(at, range.begin - at);
    text += "[" + rendered.text.substr(range.begin, range.end - range.begin) + "]";
    at = range.end;
  }
  return text + rendered.text.substr(at);
}

TEST(Origins, OfTheTemplateAndOfVariables) {
  EXPECT_EQ(shown("a{{ 'b' }}{{ x }}c"), "ab[User]c");
  EXPECT_EQ(shown("{{ x ~ x }}{{ x }}"), "[UserUserUser]");
  EXPECT_EQ(shown("{{ 'a' + x + 'b' }}"), "a[User]b");
}

TEST(Origins, SurviveEveryOperation) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"('<' ~ x ~ '>')[0:3]", "<[Us]"},
      {"('<' ~ x ~ '>')[::-1]", ">[resU]<"},
      {"('<' ~ x ~ '>')[1]", "[U]"},
      {"('<' ~ x ~ '>').upper()", "<[USER]>"},
      {"('<' ~ e ~ 'ß') | upper", "<[ÉTÉ]SS"},
      {"('<a' ~ x ~ 'b>') | title", "<A[user]b>"},
      {"(' ' ~ s ~ 'b ').strip() ~ '|'", "[pad ]b|"},
      {"(' ' ~ s) | trim", "[pad]"},
      {"('a,' ~ x ~ ',b').split(',')[1]", "[User]"},
      {"('a,' ~ x ~ ',b').split(',')[2]", "b"},
      {"('a,' ~ x ~ ',b').partition(',')[2]", "[User],b"},
      {"('a\\n' ~ q).splitlines()[1]", "[a\"]"},
      {"('ab' ~ x).replace('b', '-')", "a-[User]"},
      {"('ab').replace('b', x)", "a[User]"},
      {"('ab' ~ x).replace('s', 'z')", "ab[U]z[er]"},
      {"l | join(', ')", "[ab], [cd]"},
      {"'-'.join(l)", "[ab]-[cd]"},
      {"x | join(x[0])", "[UUsUeUr]"},
      {"'%s=%5s' % ('k', x)", "k= [User]"},
      {"x % ()", "[User]"},
      {"'{}={!r}'.format('k', x)", "k='[User]'"},
      {"'{:*^8}'.format(x)", "**[User]**"},
      {"x | center(8) ~ '|'", "  [User]  |"},
      {"x.ljust(6, '.')", "[User].."},
      {"'a' ~ x | indent(2, true)", "a  [User]"},
      {"x * 2", "[UserUser]"},
      {"d | tojson", "{\"[k]\": \"[v]\"}"},
      {"q | tojson", "\"[a\\\"\\nb]\""},
      {"e | tojson(ensure_ascii=true)", "\"[\\u00e9t\\u00e9]\""},
      {"d | string", "{'[k]': '[v]'}"},
      {"[x]", "['[User]']"},
      {"d.keys() | first", "[k]"},
      {"d.items() | list", "[('[k]', '[v]')]"},
      {"x | list | join", "[User]"},
      {"('a' ~ x ~ 'longer text') | truncate(7)", "a[Use]..."},
      {"'<' ~ x | escape", "<[User]"},
      {"('<' ~ x) | escape", "&lt;[User]"},
      {"x | default('y')", "[User]"},
      {"nothing | default('y')", "y"},
      {"'a' if x else x", "a"},
      {"n", "[12]"},
      {"n + 1", "[13]"},
      {"'%03d' % n", "[012]"},
      {"x | length", "4"},
      {"'5' | int + 1", "6"},
      {"n | string", "[12]"},
      {"x | string | capitalize", "[User]"},
      {"[x, 'b', 'a'] | sort", "['a', 'b', '[User]']"},
      {"[x] | map('upper') | first", "[USER]"},
      {"l | map('replace', 'a', 'z') | list", "['z[b]', '[cd]']"},
      {"dict(a=x).a", "[User]"},
      {"namespace(a=x).a", "[User]"},
      {"cycler(x).next()", "[User]"},
      {"'a\tb'.expandtabs(4)", "a   b"},
      {"x.zfill(6)", "00[User]"},
      {"('a' ~ x).removeprefix('a')", "[User]"},
      {"x.format()", "[User]"},
      {"strftime_now(x)", "[User]"},
  };
  for (const auto& [expression, expected] : cases)
    EXPECT_EQ(shown("{{ " + expression + " }}"), expected) << expression;
}

TEST(Origins, OfAnswersAreTold) {
  const ChatTemplate parsed =
      ChatTemplate::parse("{{ u ~ a }}-{{ (a ~ '!') | upper | replace('B', 'bee') }}").value();
  const TemplateValue variables =
      TemplateValue::dict({{TemplateValue::string("u"), TemplateValue::string("user")},
                           {TemplateValue::string("a"), TemplateValue::answer("ab")}})
          .value();
  const RenderedText rendered = parsed.render(variables).value();
  EXPECT_EQ(rendered.text, "userab-Abee!");
  EXPECT_EQ(rendered.users, (std::vector<ByteRange>{{0, 6}, {7, 8}}));
  EXPECT_EQ(rendered.answers, (std::vector<ByteRange>{{4, 6}, {7, 8}}));
}

TEST(Origins, SurviveBlocksAndMacros) {
  EXPECT_EQ(shown("{% set y %}a{{ x }}{% endset %}{{ y }}"), "a[User]");
  EXPECT_EQ(shown("{% filter upper %}a{{ x }}{% endfilter %}"), "A[USER]");
  EXPECT_EQ(shown("{% macro m(p, q='b') %}{{ p }}{{ q }}{% endmacro %}{{ m(x) ~ 'c' }}"),
            "[User]bc");
  EXPECT_EQ(
      shown("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ x }}{% endcall %}"),
      "<[User]>");
  EXPECT_EQ(shown("{% for c in 'a' ~ x %}{{ c }}.{% endfor %}"), "a.[U].[s].[e].[r].");
  EXPECT_EQ(shown("{% for k, v in d.items() %}{{ k }}:{{ v }}{% endfor %}"), "[k]:[v]");
}

}  // namespace
}  // namespace polystate
