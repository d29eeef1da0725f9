#include "report/tones.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::report {
namespace {

// In the order of Tone. Every text has a contrast of at least 4.5 to its fill.
constexpr std::array kTones = {
    ToneColours{"plain", "#ffffff", "#8c959f", "#1f2328"},
    ToneColours{"muted", "#f6f8fa", "#c5ccd3", "#59636e"},
    ToneColours{"good", "#dafbe1", "#1a7f37", "#0f5323"},
    ToneColours{"warning", "#fff8c5", "#9a6700", "#6b4700"},
    ToneColours{"bad", "#ffebe9", "#cf222e", "#8e1519"},
    ToneColours{"blue", "#ddf4ff", "#0969da", "#0a3069"},
    ToneColours{"violet", "#fbefff", "#8250df", "#4c2889"},
    ToneColours{"teal", "#d5f5f1", "#0f766e", "#0b4f4a"},
};

}  // namespace

const ToneColours& colours_of(Tone tone) { return kTones.at(static_cast<std::size_t>(tone)); }

const ToneColours& colours_of(GroupIndex group, const std::vector<Group>& groups) {
  return colours_of(group.has_value() && *group < groups.size() ? groups[*group].tone
                                                                : Tone::kPlain);
}

std::optional<Tone> tone_named(std::string_view name) {
  for (std::size_t i = 0; i < kTones.size(); ++i) {
    if (kTones.at(i).name == name) return static_cast<Tone>(i);
  }
  return std::nullopt;
}

std::string tone_rules() {
  std::string rules;
  for (const ToneColours& tone : kTones) {
    if (tone.name == "plain") continue;
    rules += '.';
    rules.append(tone.name).append("{background:").append(tone.fill);
    rules.append(";color:").append(tone.text).append(";border-color:").append(tone.stroke);
    rules += "}\n";
  }
  return rules;
}

}  // namespace polystate::report
