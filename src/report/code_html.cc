#include "report/code_html.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/report/document.h"
#include "report/markup.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string line_html(std::string_view number, std::string_view line, Tone tone) {
  std::string html = "<span class=\"line";
  if (tone != Tone::kPlain) html.append(" ").append(colours_of(tone).name);
  html += "\">";
  if (!number.empty()) html.append("<span class=\"number\">").append(number).append("</span>");
  return html + escaped(line) + "</span>";
}

Tone diff_tone(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("@@"))
    return Tone::kMuted;
  if (line.starts_with('+')) return Tone::kGood;
  return line.starts_with('-') ? Tone::kBad : Tone::kPlain;
}

std::string numbered_lines(const Code& code) {
  const std::vector<std::string_view> lines = lines_of(code.text);
  std::string html;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t number = code.first_line + i;
    Tone tone = Tone::kPlain;
    std::string notes;
    for (const CodeMark& mark : code.marks) {
      if (mark.line != number) continue;
      tone = mark.tone;
      if (!mark.note.empty()) notes += line_html("\u21b3", mark.note, mark.tone);
    }
    html += line_html(std::to_string(number), lines[i], tone) + notes;
  }
  return html;
}

}  // namespace

std::string code_html(const Code& code) {
  std::string html = "<pre tabindex=\"0\">";
  if (code.is_diff) {
    for (const std::string_view line : lines_of(code.text))
      html += line_html({}, line, diff_tone(line));
  } else {
    html += numbered_lines(code);
  }
  return html + "</pre>\n";
}

}  // namespace polystate::report
