#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/report/document.h"
#include "report/markup.h"
#include "report/svg.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

constexpr double kRowsTop = 8;
constexpr double kRowHeight = 22;
constexpr double kRowsWidth = 720;
constexpr double kTextSize = 11;
constexpr std::size_t kMostLabel = 36;
constexpr std::string_view kRowColour = "#eaeef2";
constexpr std::string_view kLabelColour = "#1f2328";

// The room for the names of rows.
double label_width(const Timeline& timeline) {
  std::size_t columns = 0;
  for (const TimelineRow& row : timeline.rows)
    columns = std::max(columns, columns_of(clipped(row.label, kMostLabel)));
  return static_cast<double>(columns) * character_width(kTextSize) + 16;
}

std::string title_of(const TimelineRow& row, const Span& span, const Timeline& timeline) {
  std::string title =
      row.label + ", steps " + std::to_string(span.first) + " to " + std::to_string(span.last);
  if (!span.label.empty()) title += "\n" + span.label;
  if (span.group.has_value()) title += "\n" + timeline.groups[*span.group].name;
  return title;
}

class Rows {
 public:
  explicit Rows(const Timeline& timeline)
      : timeline_(timeline),
        left_(label_width(timeline)),
        step_(kRowsWidth / std::max<double>(1, static_cast<double>(timeline.steps))) {}

  void add(Svg& svg, std::size_t index) const {
    const TimelineRow& row = timeline_.rows[index];
    const double top = kRowsTop + static_cast<double>(index) * kRowHeight;
    svg.open_group(row.label);
    svg.text({0, top + 15}, clipped(row.label, kMostLabel), kTextSize, kLabelColour);
    svg.close_group();
    svg.line({left_, top + kRowHeight / 2}, {left_ + kRowsWidth, top + kRowHeight / 2}, kRowColour);
    for (const Span& span : row.spans) add_span(svg, row, span, top);
  }

  [[nodiscard]] double width() const { return left_ + kRowsWidth + 12; }

 private:
  void add_span(Svg& svg, const TimelineRow& row, const Span& span, double top) const {
    const ToneColours& colours = colours_of(span.group, timeline_.groups);
    const double left = left_ + static_cast<double>(span.first) * step_;
    const double width = std::max(2.0, static_cast<double>(span.last - span.first + 1) * step_);
    svg.open_group(title_of(row, span, timeline_));
    svg.rectangle({left, top + 2, width, kRowHeight - 4}, colours, 2);
    const auto room = static_cast<std::size_t>(std::max(0.0, width / character_width(10) - 1));
    if (room >= 3) svg.text({left + 4, top + 15}, clipped(span.label, room), 10, colours.text);
    svg.close_group();
  }

  const Timeline& timeline_;
  double left_;
  double step_;
};

}  // namespace

std::string timeline_element(const Timeline& timeline) {
  const Rows rows(timeline);
  Svg svg(rows.width(), 2 * kRowsTop + static_cast<double>(timeline.rows.size()) * kRowHeight,
          timeline.caption.empty() ? "Timeline" : std::string_view(timeline.caption));
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) rows.add(svg, i);
  return std::move(svg).element();
}

}  // namespace polystate::report
