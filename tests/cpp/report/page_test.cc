#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "polystate/report/document.h"
#include "polystate/report/render.h"

namespace polystate::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(std::vector<Block> blocks) {
  Document document{.title = "Title", .subtitle = "", .sections = {}};
  document.sections.push_back({.title = "Section", .blocks = std::move(blocks), .sections = {}});
  return render_html(document);
}

constexpr const char* kHostile = "</pre></td><script>alert(1)</script>\"'";

TEST(Page, SectionsHaveHeadingsAndTheContentsLeadToThem) {
  Document document{.title = "T", .subtitle = "S", .sections = {}};
  document.sections.push_back({.title = "One", .blocks = {}, .sections = {}});
  document.sections.push_back({.title = "Two", .blocks = {}, .sections = {}});
  document.sections[0].sections.push_back({.title = "Inner", .blocks = {}, .sections = {}});
  const std::string page = render_html(document);
  EXPECT_THAT(page, HasSubstr("<a href=\"#section-3\">Two</a>"));
  EXPECT_THAT(page, HasSubstr("<section id=\"section-3\">\n<h2>Two</h2>"));
  EXPECT_THAT(page, HasSubstr("<h3>Inner</h3>"));
  EXPECT_THAT(page, Not(HasSubstr("\">Inner</a>")));
}

TEST(Page, NothingIsRunOrAskedFor) {
  const std::string page = page_of({});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
}

TEST(Page, EveryTextIsEscaped) {
  Graph graph{.caption = kHostile, .groups = {{kHostile, Tone::kBlue}}, .nodes = {}, .edges = {}};
  graph.nodes.push_back({.label = kHostile, .note = kHostile, .details = kHostile, .group = 0});
  graph.nodes.push_back({.label = "b", .note = "", .details = "", .group = {}});
  graph.edges.push_back({.from = 0, .to = 1, .label = kHostile});
  MemoryPlan plan{.caption = kHostile, .steps = 1, .bytes = 1, .groups = {}, .blocks = {}};
  plan.blocks.push_back({.label = kHostile, .details = kHostile, .bytes = 1, .group = {}});
  Timeline timeline{.caption = kHostile, .steps = 1, .groups = {}, .rows = {}};
  timeline.rows.push_back({.label = kHostile, .spans = {{.label = kHostile, .group = {}}}});
  FlameGraph flames{.caption = kHostile, .unit = kHostile, .groups = {}, .flames = {}};
  flames.flames.push_back({.label = kHostile, .details = kHostile, .value = 1, .parent = {}});
  const Cell cell{.text = kHostile};
  const std::string page =
      page_of({{Paragraph{.text = kHostile}},
               {Code{.caption = kHostile, .text = kHostile, .marks = {{.note = kHostile}}}},
               {Code{.caption = "", .text = kHostile, .is_diff = true, .marks = {}}},
               {Facts{{{.name = kHostile, .value = cell}}}},
               {Table{.caption = kHostile, .columns = {{kHostile}}, .rows = {{cell}}}},
               {graph},
               {plan},
               {timeline},
               {flames},
               {Bars{.caption = kHostile,
                     .groups = {},
                     .bars = {{.label = kHostile, .text = kHostile, .details = kHostile}}}},
               {Details{.summary = kHostile, .blocks = {{Paragraph{.text = kHostile}}}}}});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\"'")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(Page, AMarkedLineHasItsNoteBelow) {
  const std::string page = page_of({{Code{.caption = "",
                                          .text = "first\nsecond\n",
                                          .first_line = 4,
                                          .marks = {{5, Tone::kBad, "why"}}}}});
  EXPECT_THAT(page, HasSubstr("<span class=\"line\"><span class=\"number\">4</span>first</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"line bad\"><span class=\"number\">5</span>second"));
  EXPECT_LT(page.find("second"), page.find("why"));
}

TEST(Page, LinesOfADiffAreColoured) {
  const std::string page =
      page_of({{Code{.caption = "", .text = "-old\n+new\n same", .is_diff = true, .marks = {}}}});
  EXPECT_THAT(page, HasSubstr("<span class=\"line bad\">-old</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"line good\">+new</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"line\"> same</span>"));
}

TEST(Page, TheLongestBarIsThatOfTheLargestValue) {
  const std::string page = page_of(
      {{Bars{.caption = "",
             .groups = {},
             .bars = {{.label = "a", .value = 10, .text = "ten"}, {.label = "b", .value = 5}}}}});
  EXPECT_THAT(page, HasSubstr("width:100%"));
  EXPECT_THAT(page, HasSubstr("width:50%"));
  EXPECT_THAT(page, HasSubstr(">ten<"));
}

}  // namespace
}  // namespace polystate::report
