#include "report/blocks_html.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/report/document.h"
#include "report/code_html.h"
#include "report/markup.h"
#include "report/svg.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

// A name of a class, where a tone has one.
std::string tone_class(Tone tone) {
  return tone == Tone::kPlain ? std::string() : std::string(colours_of(tone).name);
}

std::string class_attribute(const std::string& name) {
  return name.empty() ? std::string() : " class=\"" + name + "\"";
}

std::string caption_html(const std::string& caption) {
  return caption.empty() ? std::string() : "<figcaption>" + escaped(caption) + "</figcaption>\n";
}

std::string legend_html(const std::vector<Group>& groups) {
  if (groups.empty()) return {};
  std::string html = "<ul class=\"legend\">";
  for (const Group& group : groups) {
    const std::string name = "chip " + tone_class(group.tone);
    html += "<li" + class_attribute(name) + ">" + escaped(group.name) + "</li>";
  }
  return html + "</ul>\n";
}

// A picture that scrolls where it is wider than the page.
std::string picture_html(const std::string& caption, const std::vector<Group>& groups,
                         const std::string& element) {
  return "<figure>\n" + caption_html(caption) + legend_html(groups) +
         "<div class=\"picture\" tabindex=\"0\">\n" + element + "</div>\n</figure>\n";
}

std::string cell_html(const Cell& cell) {
  std::string html = escaped(cell.text);
  if (cell.is_code) html = "<code>" + html + "</code>";
  if (cell.tone == Tone::kPlain) return html;
  return "<span class=\"chip " + tone_class(cell.tone) + "\">" + html + "</span>";
}

std::string table_cell(std::string_view element, const Column& column, const std::string& content) {
  const std::string name = column.is_right ? "right" : "";
  std::string html = "<";
  html.append(element).append(class_attribute(name)).append(">").append(content);
  return html.append("</").append(element).append(">");
}

std::string bar_html(const Bar& bar, const Bars& bars, double largest) {
  const double percent = largest > 0 ? 100 * bar.value / largest : 0;
  const ToneColours& colours = colours_of(bar.group, bars.groups);
  std::string title;
  if (!bar.details.empty()) title = " title=\"" + escaped(bar.details) + "\"";
  std::string html = "<tr" + title + "><td>" + escaped(bar.label) + "</td><td class=\"right\">";
  html += escaped(bar.text.empty() ? decimal(bar.value) : bar.text);
  html += "</td><td class=\"track\"><div class=\"bar\" style=\"width:" + decimal(percent) + "%;";
  // A plain bar is seen by its border's colour.
  html.append("background:").append(colours.stroke).append("\"></div></td></tr>\n");
  return html;
}

// Makes elements of each kind of block.
class BlockWriter {
 public:
  std::string operator()(const Paragraph& paragraph) const {
    const std::string name = tone_class(paragraph.tone);
    return "<p" + class_attribute(name.empty() ? name : "note " + name) + ">" +
           escaped(paragraph.text) + "</p>\n";
  }

  std::string operator()(const Code& code) const {
    return "<figure>\n" + caption_html(code.caption) + code_html(code) + "</figure>\n";
  }

  std::string operator()(const Facts& facts) const {
    std::string html = "<dl>\n";
    for (const Fact& fact : facts.facts)
      html += "<dt>" + escaped(fact.name) + "</dt><dd>" + cell_html(fact.value) + "</dd>\n";
    return html + "</dl>\n";
  }

  std::string operator()(const Table& table) const {
    std::string html = "<figure>\n" + caption_html(table.caption);
    html += "<div class=\"picture\" tabindex=\"0\"><table>\n<thead><tr>";
    for (const Column& column : table.columns)
      html += table_cell("th", column, escaped(column.title));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      html += "<tr>";
      for (std::size_t i = 0; i < std::min(row.size(), table.columns.size()); ++i)
        html += table_cell("td", table.columns[i], cell_html(row[i]));
      html += "</tr>\n";
    }
    return html + "</tbody>\n</table></div>\n</figure>\n";
  }

  std::string operator()(const Graph& graph) const {
    return picture_html(graph.caption, graph.groups, graph_element(graph));
  }

  std::string operator()(const MemoryPlan& plan) const {
    return picture_html(plan.caption, plan.groups, memory_plan_element(plan));
  }

  std::string operator()(const Timeline& timeline) const {
    return picture_html(timeline.caption, timeline.groups, timeline_element(timeline));
  }

  std::string operator()(const FlameGraph& flames) const {
    return picture_html(flames.caption, flames.groups, flame_element(flames));
  }

  std::string operator()(const Bars& bars) const {
    double largest = 0;
    for (const Bar& bar : bars.bars) largest = std::max(largest, bar.value);
    std::string html = "<figure>\n" + caption_html(bars.caption) + legend_html(bars.groups);
    html += "<div class=\"picture\" tabindex=\"0\"><table class=\"bars\">\n<tbody>\n";
    for (const Bar& bar : bars.bars) html += bar_html(bar, bars, largest);
    return html + "</tbody>\n</table></div>\n</figure>\n";
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as its caller made it
  std::string operator()(const Details& details) const {
    std::string html = "<details>\n<summary>" + escaped(details.summary) + "</summary>\n";
    for (const Block& block : details.blocks) html += block_html(block);
    return html + "</details>\n";
  }
};

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as its caller made it
std::string block_html(const Block& block) { return std::visit(BlockWriter(), block.content); }

}  // namespace polystate::report
