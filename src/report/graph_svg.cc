#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/graph_layout.h"
#include "report/markup.h"
#include "report/svg.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

constexpr double kLabelSize = 12;
constexpr double kNoteSize = 10;
constexpr double kPadding = 8;
constexpr std::size_t kMostCharacters = 44;
constexpr std::string_view kEdgeColour = "#8c959f";

double width_of(const GraphNode& node) {
  const auto columns = [](const std::string& text) {
    return static_cast<double>(columns_of(clipped(text, kMostCharacters)));
  };
  return std::max(columns(node.label) * character_width(kLabelSize),
                  columns(node.note) * character_width(kNoteSize)) +
         2 * kPadding;
}

std::string at(Point point) { return decimal(point.x) + " " + decimal(point.y); }

// A curve that leaves a point downwards and reaches the next from above.
std::string curve(Point from, Point to) {
  const double middle = (from.y + to.y) / 2;
  return "C" + at({from.x, middle}) + " " + at({to.x, middle}) + " " + at(to);
}

std::string commands_of(const EdgePath& path) {
  const auto& points = path.points;
  std::string commands = "M" + at(points.front());
  if (path.is_back) {
    // Around the side of both nodes.
    constexpr double kAside = 60;
    const Point from = points.front();
    const Point to = points.back();
    return commands + "C" + at({from.x + kAside, from.y + kAside}) + " " +
           at({to.x + kAside, to.y - kAside}) + " " + at(to);
  }
  for (std::size_t i = 1; i < points.size(); ++i) {
    const bool is_straight = points[i].x == points[i - 1].x;
    commands += is_straight ? "L" + at(points[i]) : curve(points[i - 1], points[i]);
  }
  return commands;
}

void add_edge(Svg& svg, const Graph& graph, const EdgePath& path) {
  const GraphEdge& edge = graph.edges[path.edge];
  std::string title = graph.nodes[edge.from].label + " \u2192 " + graph.nodes[edge.to].label;
  if (!edge.label.empty()) title += "\n" + edge.label;
  std::string attributes = " fill=\"none\" stroke=\"" + std::string(kEdgeColour) + "\"";
  if (path.is_back) attributes += " stroke-dasharray=\"4 3\"";
  svg.path(commands_of(path), attributes, title);
  const Point end = path.points.back();
  svg.path("M" + at(end) + "l-3.5 -6h7z", " fill=\"" + std::string(kEdgeColour) + "\"", {});
}

void add_node(Svg& svg, const Graph& graph, const GraphNode& node, const NodeBox& box) {
  const ToneColours& colours = colours_of(node.group, graph.groups);
  const double middle = box.left + box.width / 2;
  const bool has_note = !node.note.empty();
  std::string title = node.label;
  for (const std::string& text : {node.note, node.details}) {
    if (!text.empty()) title += "\n" + text;
  }
  svg.open_group(title);
  svg.rectangle(box, colours, 5);
  svg.text({middle, box.top + (has_note ? 15 : 22)}, clipped(node.label, kMostCharacters),
           kLabelSize, colours.text, "middle");
  if (has_note) {
    svg.text({middle, box.top + 29}, clipped(node.note, kMostCharacters), kNoteSize, colours.text,
             "middle");
  }
  svg.close_group();
}

}  // namespace

std::string graph_element(const Graph& graph) {
  std::vector<double> widths;
  widths.reserve(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) widths.push_back(width_of(node));
  const GraphLayout layout = lay_out(graph, widths);
  Svg svg(layout.width, layout.height,
          graph.caption.empty() ? "Graph" : std::string_view(graph.caption));
  for (const EdgePath& path : layout.edges) add_edge(svg, graph, path);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    add_node(svg, graph, graph.nodes[i], layout.nodes[i]);
  return std::move(svg).element();
}

std::string graph_svg(const Graph& graph) { return svg_file(graph_element(graph)); }

}  // namespace polystate::report
