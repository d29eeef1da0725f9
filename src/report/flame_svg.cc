#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/markup.h"
#include "report/svg.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

constexpr double kFlamesWidth = 1000;
constexpr double kFlameHeight = 20;
constexpr double kEdge = 8;
constexpr double kFlameText = 11;

// Where a box lies; its parts follow one another from its left side.
struct FlamePlace {
  double left = 0;
  double width = 0;
  std::size_t depth = 0;
  double taken = 0;  // of the width, by the parts so far
};

// A box without a value of its own is as wide as its parts together; one with less than its parts
// is widened to them.
std::vector<double> whole_values(const std::vector<Flame>& flames) {
  std::vector<double> parts(flames.size(), 0);
  std::vector<double> values(flames.size(), 0);
  for (std::size_t i = flames.size(); i-- > 0;) {
    values[i] = std::max(flames[i].value, parts[i]);
    const std::optional<std::size_t> parent = flames[i].parent;
    if (parent) parts[*parent] += values[i];
  }
  return values;
}

std::vector<FlamePlace> places_of(const std::vector<Flame>& flames,
                                  const std::vector<double>& values) {
  double total = 0;
  for (std::size_t i = 0; i < flames.size(); ++i) {
    if (!flames[i].parent.has_value()) total += values[i];
  }
  std::vector<FlamePlace> places;
  places.reserve(flames.size());
  double bottom_taken = 0;
  for (std::size_t i = 0; i < flames.size(); ++i) {
    const double width = total > 0 ? kFlamesWidth * values[i] / total : 0;
    const std::optional<std::size_t> index = flames[i].parent;
    if (index) {
      const FlamePlace parent = places[*index];
      places.push_back(
          {.left = parent.left + parent.taken, .width = width, .depth = parent.depth + 1});
      places[*index].taken += width;
    } else {
      places.push_back({.left = bottom_taken, .width = width});
      bottom_taken += width;
    }
  }
  return places;
}

}  // namespace

std::string flame_element(const FlameGraph& graph) {
  const std::vector<double> values = whole_values(graph.flames);
  const std::vector<FlamePlace> places = places_of(graph.flames, values);
  std::size_t depth = 0;
  for (const FlamePlace& place : places) depth = std::max(depth, place.depth + 1);
  const double height = 2 * kEdge + static_cast<double>(depth) * kFlameHeight;
  Svg svg(kFlamesWidth + 2 * kEdge, height,
          graph.caption.empty() ? "Flame graph" : std::string_view(graph.caption));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Flame& flame = graph.flames[i];
    const FlamePlace& place = places[i];
    const ToneColours& colours = colours_of(flame.group, graph.groups);
    const double top = height - kEdge -
                       static_cast<double>(place.depth + 1) * kFlameHeight;  // the first is lowest
    std::string title = flame.label + "\n" + decimal(values[i]);
    if (!graph.unit.empty()) title += " " + graph.unit;
    if (!flame.details.empty()) title += "\n" + flame.details;
    svg.open_group(title);
    svg.rectangle({kEdge + place.left, top, std::max(0.5, place.width), kFlameHeight - 1}, colours);
    const auto room =
        static_cast<std::size_t>(std::max(0.0, (place.width - 6) / character_width(kFlameText)));
    if (room >= 3) {
      svg.text({kEdge + place.left + 4, top + 14}, clipped(flame.label, room), kFlameText,
               colours.text);
    }
    svg.close_group();
  }
  return std::move(svg).element();
}

std::string flame_svg(const FlameGraph& flames) { return svg_file(flame_element(flames)); }

}  // namespace polystate::report
