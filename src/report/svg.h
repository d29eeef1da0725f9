#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polystate/report/document.h"
#include "report/graph_layout.h"
#include "report/tones.h"

namespace polystate::report {

// A picture as an element of SVG, which carries its colours and fonts with it and so is a file,
// too. Only its own numbers are written as they are.
class Svg {
 public:
  // `label`: what a picture shows, for those who cannot see it.
  Svg(double width, double height, std::string_view label);

  void rectangle(const NodeBox& box, const ToneColours& colours, double radius = 0);

  // A text whose base line is at `y`. `anchor`: "start", "middle" or "end" is at `x`.
  void text(Point at, std::string_view text, double size, std::string_view colour,
            std::string_view anchor = "start");

  void line(Point from, Point to, std::string_view colour);

  // Of an SVG path's commands.
  void path(std::string_view commands, std::string_view attributes, std::string_view title);

  // What stands between is shown with `title` when one points at it.
  void open_group(std::string_view title);
  void close_group();

  [[nodiscard]] std::string element() &&;

 private:
  std::string svg_;
};

// The width of a character of a font of `size`: all have the same.
constexpr double character_width(double size) { return size * 0.61; }

// Pictures as elements.
std::string graph_element(const Graph& graph);
std::string memory_plan_element(const MemoryPlan& plan);
std::string timeline_element(const Timeline& timeline);
std::string flame_element(const FlameGraph& flames);

// An element as a file of its own.
std::string svg_file(std::string element);

// A number of an attribute.
std::string attribute(std::string_view name, double value);

}  // namespace polystate::report
