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

constexpr double kLeft = 84;
constexpr double kTop = 10;
constexpr double kPlanWidth = 900;
constexpr double kPlanHeight = 360;
constexpr double kBottom = 40;
constexpr double kSize = 10;
constexpr std::string_view kTextColour = "#59636e";
constexpr std::string_view kLineColour = "#d1d9e0";
constexpr int kMarks = 4;

// How the plan's steps and bytes lie on the page.
class Scale {
 public:
  explicit Scale(const MemoryPlan& plan)
      : steps_(std::max<double>(1, static_cast<double>(plan.steps))),
        bytes_(std::max<double>(1, static_cast<double>(plan.bytes))) {}

  // The left side of a step.
  [[nodiscard]] double x(double step) const { return kLeft + kPlanWidth * step / steps_; }
  [[nodiscard]] double y(double byte) const { return kTop + kPlanHeight * (1 - byte / bytes_); }
  [[nodiscard]] double steps() const { return steps_; }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  double steps_;
  double bytes_;
};

void add_axes(Svg& svg, const Scale& scale) {
  for (int i = 0; i <= kMarks; ++i) {
    const double part = static_cast<double>(i) / kMarks;
    const double y = scale.y(scale.bytes() * part);
    svg.line({kLeft, y}, {kLeft + kPlanWidth, y}, kLineColour);
    svg.text({kLeft - 6, y + 3}, size_text(scale.bytes() * part), kSize, kTextColour, "end");
    const auto step = static_cast<std::size_t>(scale.steps() * part);
    svg.text({scale.x(static_cast<double>(step)), kTop + kPlanHeight + 14}, grouped_digits(step),
             kSize, kTextColour, "middle");
  }
  svg.text({kLeft + kPlanWidth / 2, kTop + kPlanHeight + 30}, "steps of the method", kSize,
           kTextColour, "middle");
}

void add_block(Svg& svg, const Scale& scale, const MemoryPlan& plan, const PlannedBlock& block) {
  const ToneColours& colours = colours_of(block.group, plan.groups);
  const double left = scale.x(static_cast<double>(block.first));
  const double right = scale.x(static_cast<double>(block.last) + 1);
  const double bottom = scale.y(static_cast<double>(block.offset));
  const double top = scale.y(static_cast<double>(block.offset) + static_cast<double>(block.bytes));
  std::string title = block.label + "\n" + size_text(static_cast<double>(block.bytes)) +
                      " at byte " + grouped_digits(block.offset) + ", steps " +
                      std::to_string(block.first) + " to " + std::to_string(block.last);
  if (!block.details.empty()) title += "\n" + block.details;
  svg.open_group(title);
  svg.rectangle({left, top, std::max(0.5, right - left), std::max(0.5, bottom - top)}, colours);
  const auto room =
      static_cast<std::size_t>(std::max(0.0, (right - left - 6) / character_width(kSize)));
  if (bottom - top >= kSize + 3 && room >= 3)
    svg.text({left + 4, top + kSize + 1}, clipped(block.label, room), kSize, colours.text);
  svg.close_group();
}

}  // namespace

std::string memory_plan_element(const MemoryPlan& plan) {
  const Scale scale(plan);
  Svg svg(kLeft + kPlanWidth + 24, kTop + kPlanHeight + kBottom,
          plan.caption.empty() ? "Memory plan" : std::string_view(plan.caption));
  add_axes(svg, scale);
  for (const PlannedBlock& block : plan.blocks) add_block(svg, scale, plan, block);
  return std::move(svg).element();
}

}  // namespace polystate::report
