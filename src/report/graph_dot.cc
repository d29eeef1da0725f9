#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/markup.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

// A text in double quotes, as DOT has it: only these are special there.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : visible(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_of(std::size_t node) { return "n" + std::to_string(node); }

std::string node_line(const Graph& graph, std::size_t index) {
  const GraphNode& node = graph.nodes[index];
  const ToneColours& colours = colours_of(node.group, graph.groups);
  const std::string label = node.note.empty() ? node.label : node.label + "\n" + node.note;
  std::string line = "  " + name_of(index) + " [label=" + quoted(label);
  line.append(", fillcolor=\"").append(colours.fill);
  line.append("\", color=\"").append(colours.stroke);
  line.append("\", fontcolor=\"").append(colours.text).append("\"");
  if (!node.details.empty()) line += ", tooltip=" + quoted(node.details);
  return line + "];\n";
}

std::string edge_line(const GraphEdge& edge) {
  std::string line = "  " + name_of(edge.from) + " -> " + name_of(edge.to);
  if (!edge.label.empty()) line += " [label=" + quoted(edge.label) + "]";
  return line + ";\n";
}

}  // namespace

std::string graph_dot(const Graph& graph) {
  std::string dot = "digraph " + quoted(graph.caption) + " {\n";
  dot += "  node [shape=box, style=\"rounded,filled\", fontname=monospace];\n";
  dot += "  edge [color=\"#8c959f\", fontname=monospace, fontsize=9];\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) dot += node_line(graph, i);
  for (const GraphEdge& edge : graph.edges) dot += edge_line(edge);
  return dot + "}\n";
}

}  // namespace polystate::report
