#include "report/svg.h"

#include <string>
#include <string_view>
#include <utility>

#include "report/graph_layout.h"
#include "report/markup.h"
#include "report/tones.h"

namespace polystate::report {

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + decimal(value) + "\"";
}

Svg::Svg(double width, double height, std::string_view label) {
  svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  svg_ += attribute("width", width) + attribute("height", height);
  svg_ += " viewBox=\"0 0 " + decimal(width) + " " + decimal(height) + "\" role=\"img\"";
  svg_ += " font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\"";
  svg_ += " aria-label=\"" + escaped(label) + "\">\n";
}

void Svg::rectangle(const NodeBox& box, const ToneColours& colours, double radius) {
  svg_ += "<rect" + attribute("x", box.left) + attribute("y", box.top);
  svg_ += attribute("width", box.width) + attribute("height", box.height);
  if (radius > 0) svg_ += attribute("rx", radius);
  svg_.append(" fill=\"").append(colours.fill);
  svg_.append("\" stroke=\"").append(colours.stroke).append("\"/>\n");
}

void Svg::text(Point at, std::string_view text, double size, std::string_view colour,
               std::string_view anchor) {
  svg_ += "<text" + attribute("x", at.x) + attribute("y", at.y) + attribute("font-size", size);
  svg_.append(" fill=\"").append(colour).append("\"");
  if (anchor != "start") svg_.append(" text-anchor=\"").append(anchor).append("\"");
  svg_ += ">" + escaped(text) + "</text>\n";
}

void Svg::line(Point from, Point to, std::string_view colour) {
  svg_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
          attribute("y2", to.y);
  svg_.append(" stroke=\"").append(colour).append("\"/>\n");
}

void Svg::path(std::string_view commands, std::string_view attributes, std::string_view title) {
  svg_.append("<path d=\"").append(commands).append("\"").append(attributes).append(">");
  svg_ += title_element(title) + "</path>\n";
}

void Svg::open_group(std::string_view title) { svg_ += "<g>" + title_element(title); }

void Svg::close_group() { svg_ += "</g>\n"; }

std::string Svg::element() && { return std::move(svg_) + "</svg>\n"; }

std::string svg_file(std::string element) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + std::move(element);
}

}  // namespace polystate::report
