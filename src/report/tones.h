#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::report {

// How a tone looks on a white page, as colours of CSS and SVG.
struct ToneColours {
  std::string_view name;  // in JSON, and of a class of CSS
  std::string_view fill;
  std::string_view stroke;
  std::string_view text;
};

const ToneColours& colours_of(Tone tone);
// Of a group of `groups`; plain without one.
const ToneColours& colours_of(GroupIndex group, const std::vector<Group>& groups);

std::optional<Tone> tone_named(std::string_view name);

// The rules of CSS for classes that are called as the tones.
std::string tone_rules();

}  // namespace polystate::report
