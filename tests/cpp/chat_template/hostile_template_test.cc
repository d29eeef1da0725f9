// Templates that would take all of the time, the memory or the stack are refused early.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "chat_template/render.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

RenderOptions few_steps() {
  RenderOptions options;
  options.max_steps = 200'000;
  return options;
}

TEST(HostileTemplate, LoopsThatDoNotEndAreEnded) {
  const std::string loops =
      repeated("{% for i in range(100000) %}", 4) + repeated("{% endfor %}", 4);
  EXPECT_THAT(refusal(loops, "{}", few_steps()), HasSubstr("more than 200000 steps"));
  EXPECT_THAT(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), HasSubstr("deep"));
  EXPECT_THAT(refusal("{% macro f() %}{% for i in range(9) %}{{ f() }}{% endfor %}{% endmacro %}"
                      "{{ f() }}",
                      "{}", few_steps()),
              Not(IsEmpty()));
  EXPECT_THAT(refusal("{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}"),
              HasSubstr("deep"));
}

TEST(HostileTemplate, TakesNoLongerThanItMay) {
  RenderOptions options;
  options.max_seconds = 0.05;
  EXPECT_THAT(refusal(repeated("{% for i in range(100000) %}", 3) + repeated("{% endfor %}", 3),
                      "{}", options),
              HasSubstr("longer than"));
}

TEST(HostileTemplate, TextsOfAGigabyteAreNotMade) {
  for (const std::string_view source :
       {"{{ 'a' * 1000000000 }}", "{{ '%1000000000d' % 1 }}", "{{ '{:1000000000}'.format(1) }}",
        "{{ 'a'.center(1000000000) }}", "{{ 'a'.zfill(1000000000) }}",
        "{{ 'a' | center(1000000000) }}", "{{ 'a\tb'.expandtabs(1000000000) }}",
        "{{ 'a\nb' | indent(1000000000) }}", "{{ [1] | tojson(indent=1000000000) }}",
        "{{ '%.1000000000f' % 1 }}", "{{ ('a' * 100000).replace('a', 'a' * 100000) }}",
        "{{ ('a' * 100000).join(range(100000) | map('string')) }}",
        "{% set n=namespace(x='a') %}{% for i in range(40) %}{% set n.x=n.x~n.x %}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(1000) %}{{ x }}{% endfor %}"}) {
    EXPECT_THAT(refusal(source), Not(IsEmpty())) << source;
  }
}

TEST(HostileTemplate, ListsOfMillionsAreNotMade) {
  for (const std::string_view source :
       {"{{ ([1] * 1000000000) | length }}", "{{ ((1, 2) * 9000000000000000000) | length }}",
        "{{ range(100001) }}", "{{ [] | slice(1000000000) | list }}",
        "{{ [1] | batch(1000000000, 2) | list }}",
        "{% set n=namespace(x=[1]) %}{% for i in range(60) %}{% set n.x=n.x+n.x %}{% endfor %}"}) {
    EXPECT_THAT(refusal(source), Not(IsEmpty())) << source;
  }
}

TEST(HostileTemplate, TheTextOfATemplateMayNotBeDeep) {
  constexpr std::size_t kDeep = 10'000;
  EXPECT_THAT(refusal("{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}"),
              HasSubstr("deep"));
  for (const std::string_view opening :
       {"{% if 1 %}", "{% for i in [1] %}", "{% with %}", "{% set x %}", "{% macro m() %}", "{{ [",
        "{{ {1: ", "{{ -", "{{ not ", "{{ x[", "{{ f(", "{{ 1 if 2 else ", "{{ 1 + ", "{{ 1 ~ (",
        "{{ 1 ** ", "{{ 'a' | join(", "{{ 1 is sameas (", "{% call f(", "{% filter join("}) {
    std::string source(opening.substr(0, 3));
    const bool is_statement = opening.ends_with("%}");
    if (is_statement) source.clear();
    source += repeated(is_statement ? opening : opening.substr(3), kDeep);
    EXPECT_THAT(refusal(source), Not(IsEmpty())) << opening;
  }
}

TEST(HostileTemplate, LongChainsOfOperatorsAreRefusedOrRendered) {
  EXPECT_THAT(refusal("{{ 1" + repeated(" + 1", 10'000) + " }}"), HasSubstr("deep"));
  EXPECT_THAT(refusal("{{ x" + repeated(".a", 10'000) + " }}"), HasSubstr("deep"));
  EXPECT_THAT(refusal("{{ x" + repeated(" | string", 10'000) + " }}"), HasSubstr("deep"));
  EXPECT_EQ(rendered("{{ 1" + repeated(" ~ 1", 10'000) + " }}").value().text.size(), 10'001U);
  EXPECT_EQ(rendered("{% if 0 %}" + repeated("{% elif 0 %}", 10'000) + "{% endif %}a").value().text,
            "a");
}

TEST(HostileTemplate, ValuesMayNotGrowDeepWhileItRuns) {
  for (const std::string_view value : {"[ns.x]", "{'a': ns.x}", "(ns.x,)", "[ns.x] | map('string')",
                                       "ns.x | select", "{1: ns.x}.items", "{1: ns.x}.items()",
                                       "cycler(ns.x)", "[ns.x] | batch(1)", "dict(a=ns.x)"}) {
    const std::string source =
        "{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% set ns.x = " +
        std::string(value) + " %}{% endfor %}";
    EXPECT_THAT(refusal(source), HasSubstr("deep")) << value;
  }
}

// A value that shares its halves is small in memory, and takes for ever where each is looked at.
TEST(HostileTemplate, ValuesOfManyOthersAreNotMadeHoweverTheyShareThem) {
  const auto doubled = [](const std::string& once, const std::string& twice,
                          const std::string& use) {
    return "{% set n = namespace(a=" + once + ", b=" + once +
           ") %}{% for i in range(60) %}{% set n.a = " + twice + " %}{% endfor %}" + use;
  };
  EXPECT_THAT(refusal(doubled("[1]", "[n.a, n.a]", "")), HasSubstr("more than 20000000 others"));
  EXPECT_THAT(refusal(doubled("(1,)", "(n.a, n.a)", "{{ {n.a: 1} }}")), HasSubstr("others"));
  EXPECT_THAT(refusal(doubled("{}", "{1: n.a, 2: n.a}", "")), HasSubstr("others"));
}

TEST(HostileTemplate, LookingAtValuesTakesSteps) {
  const std::string deep =
      "{% set n = namespace(a=(1,), b=(1,)) %}{% for i in range(15) %}"
      "{% set n.a = (n.a, n.a) %}{% set n.b = (n.b, n.b) %}{% endfor %}";
  for (const std::string_view use :
       {"n.a == n.b", "n.a != n.b", "n.a in [n.b]", "n.a < n.b", "{n.a: 1}", "{}[n.a]",
        "[n.a].count(n.b)", "[n.a].index(n.b)", "[n.a, n.b] | unique | list", "n.a in {}"}) {
    const std::string source =
        deep + "{% for i in range(4) %}{% if " + std::string(use) + " %}{% endif %}{% endfor %}";
    EXPECT_THAT(refusal(source, "{}", few_steps()), HasSubstr("steps")) << use;
  }
}

TEST(HostileTemplate, SearchesTakeNoLongerThanTheTextIs) {
  const std::string variables =
      R"({"s": ")" + repeated("a", 2'000'000) + R"(", "p": ")" + repeated("a", 1'000'000) + R"("})";
  EXPECT_EQ(rendered("{{ s.find(p ~ 'b') }} {{ s.rfind('b' ~ p) }} {{ s.count(p ~ 'b') }} "
                     "{{ (p ~ 'b') in s }} {{ s.replace(p ~ 'b', '') == s }} "
                     "{{ s.split(p ~ 'b') | length }} {{ s.rsplit('b' ~ p) | length }} "
                     "{{ s.partition(p ~ 'b')[1] }}{{ s.rpartition('b' ~ p)[1] }}",
                     variables)
                .value()
                .text,
            "-1 -1 0 False True 1 1 ");
}

TEST(HostileTemplate, ReadingTextsTakesSteps) {
  const std::string variables = R"({"s": ")" + repeated("a", 1'000'000) + R"("})";
  for (const std::string_view use : {"s is upper",
                                     "s is lower",
                                     "s | length",
                                     "s.removeprefix('b')",
                                     "s.removesuffix('b')",
                                     "'a'.removeprefix(s)",
                                     "s.find('a', 5, 3)",
                                     "s.count('a', 5, 3)",
                                     "s.startswith('a', 1)",
                                     "s.expandtabs()",
                                     "s | truncate(2000000)",
                                     "[s] | unique | list",
                                     "[s] | max",
                                     "s | int",
                                     "s | float",
                                     "s < s",
                                     "s in {}",
                                     "{}[s]",
                                     "'' | attr(s)",
                                     "s.format()"}) {
    const std::string source =
        "{% for i in range(100) %}{% if " + std::string(use) + " %}{% endif %}{% endfor %}";
    EXPECT_THAT(refusal(source, variables, few_steps()), HasSubstr("steps")) << use;
  }
}

TEST(HostileTemplate, WideNumbersAreGroupedAtOnce) {
  EXPECT_EQ(rendered("{{ '{:01000000,}'.format(1) | length }}").value().text, "1000001");
}

TEST(HostileTemplate, WhoseEachCharacterIsTakesMemoryToo) {
  EXPECT_THAT(refusal("{{ (u ~ 'b') * 50000000 }}", R"({"u": "a"})"), HasSubstr("limit"));
  EXPECT_THAT(refusal("{{ ('b' * 300000).replace('b', u ~ 'b') }}", R"({"u": "a"})", few_steps()),
              HasSubstr("steps"));
}

TEST(HostileTemplate, PartsOfTextsAreCounted) {
  const std::string variables = R"({"s": ")" + repeated("\\n", 300'000) + R"("})";
  for (const std::string_view use :
       {"s.split('\\n')", "s.rsplit('\\n')", "s.splitlines()", "s.replace('\\n', 'a ').split()",
        "s.replace('\\n', 'a ').rsplit()"}) {
    EXPECT_THAT(refusal("{{ " + std::string(use) + " | length }}", variables, few_steps()),
                HasSubstr("steps"))
        << use;
  }
}

TEST(HostileTemplate, RangesOfNumbersThatAreTooLargeAreRefused) {
  EXPECT_THAT(refusal("{{ range(0, 9000000000000000000, 8000000000000000000)[::5] }}"),
              HasSubstr("64 bits"));
  EXPECT_THAT(refusal("{{ range(-9000000000000000000, 9000000000000000000, "
                      "6000000000000000000)[::2] }}"),
              HasSubstr("64 bits"));
  EXPECT_EQ(rendered("{{ range(10)[8:2:-3] | list }}").value().text, "[8, 5]");
}

TEST(HostileTemplate, MessagesAboutLongNamesAreShort) {
  EXPECT_EQ(refusal("{{ {}['é' * 1000].a }}"),
            "line 1: 'dict object' has no attribute '" + repeated("é", 100) + "'...");
}

TEST(HostileTemplate, ManyArgumentsTakeSteps) {
  std::string names;
  for (int i = 0; i < 5'000; ++i) names += ",a" + std::to_string(i) + "=1";
  const std::string list = names.substr(1);
  EXPECT_THAT(refusal("{{ dict(" + list + ") }}", "{}", few_steps()), HasSubstr("steps"));
  EXPECT_THAT(
      refusal("{% macro f(" + list + ") %}{% endmacro %}{{ f(" + list + ") }}", "{}", few_steps()),
      HasSubstr("steps"));
  EXPECT_EQ(rendered("{% macro f(" + list + ") %}{{ a4999 }}{% endmacro %}{{ f() }}").value().text,
            "1");
}

TEST(HostileTemplate, NamespacesThatHoldOneAnotherAreLetGo) {
  EXPECT_EQ(rendered("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}"
                     "{% set a.me = a %}{{ a.b.a.me.b.a.b is defined }}")
                .value()
                .text,
            "True");
  EXPECT_THAT(refusal("{% set a = namespace() %}{% set a.a = a %}{{ a }}"), HasSubstr("itself"));
  EXPECT_THAT(refusal("{% set ns = namespace() %}{% for i in range(20000) %}"
                      "{% set ns.x = namespace(x=ns.x) %}{% endfor %}{{ ns }}"),
              HasSubstr("deep"));
}

TEST(HostileTemplate, WhatAMacroKeepsOutlivesNothing) {
  EXPECT_EQ(
      rendered(
          "{% set ns = namespace() %}{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}"
          "{% set ns.m = m %}{% set ns.loop = loop %}{% endfor %}{{ ns.m() }}{{ ns.loop.index }}")
          .value()
          .text,
      "1");
}

TEST(HostileTemplate, MalformedTemplatesAreRefused) {
  EXPECT_THAT(refusal("a\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(std::string(5U << 20U, 'a')), HasSubstr("limit"));
  EXPECT_THAT(refusal("{{ '\\ud800' }}"), Not(IsEmpty()));
}

}  // namespace
}  // namespace polystate
