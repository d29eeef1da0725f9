#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "report/blocks_html.h"
#include "report/markup.h"
#include "report/tones.h"

namespace polystate::report {
namespace {

// Text wraps and pictures scroll, so that no page is wider than its window.
constexpr std::string_view kStyle = R"(
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:16px;background:#fff;color:#1f2328;
font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7em;margin:.2em 0}h2{font-size:1.35em;margin:1.6em 0 .4em;border-bottom:1px solid #d1d9e0}
h3{font-size:1.15em;margin:1.3em 0 .3em}h4,h5,h6{margin:1em 0 .3em}
p{white-space:pre-wrap}
header p{margin:.2em 0;color:#59636e}
nav ul,.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 12px;padding:0;margin:.6em 0}
a{color:#0969da}
figure{margin:.8em 0;min-width:0}
figcaption{color:#59636e;margin-bottom:.3em}
.picture{overflow:auto;max-height:80vh;border:1px solid #d1d9e0;border-radius:6px;background:#fff}
.picture svg{display:block}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:4px 10px;text-align:left;vertical-align:top;border-bottom:1px solid #eaeef2;
overflow-wrap:normal;white-space:pre-wrap}
thead th{position:sticky;top:0;background:#f6f8fa;white-space:nowrap}
.right{text-align:right;white-space:nowrap}
code,pre{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
pre{overflow:auto;max-height:80vh;border:1px solid #d1d9e0;border-radius:6px;padding:8px 0;margin:0}
.line{display:block;padding:0 8px;min-width:max-content}
.number{display:inline-block;width:4ch;margin-right:1ch;text-align:right;color:#59636e;
user-select:none}
.chip,.note{border:1px solid #8c959f;border-radius:6px;padding:0 6px}
.chip{display:inline-block}
.note{padding:6px 10px}
.track{width:50%;min-width:120px}.bar{height:14px;min-width:1px;border-radius:2px;margin-top:4px}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 14px}
dt{color:#59636e}dd{margin:0}
details{border:1px solid #d1d9e0;border-radius:6px;padding:6px 10px;margin:.8em 0}
summary{cursor:pointer}
@media(max-width:600px){body{padding:10px}dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:6px}}
)";

// No script may run, and nothing may be asked for; "data:," spares the request for an icon.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
)";

class Page {
 public:
  std::string text(const Document& document) && {
    for (const Section& section : document.sections) add_section(section, 2);
    std::string html(kHead);
    html += "<title>" + escaped(document.title) + "</title>\n<style>" + std::string(kStyle);
    html += tone_rules() + "</style>\n</head>\n<body>\n<header>\n";
    html += "<h1>" + escaped(document.title) + "</h1>\n";
    if (!document.subtitle.empty()) html += "<p>" + escaped(document.subtitle) + "</p>\n";
    html += "</header>\n<nav><ul>" + contents_ + "</ul></nav>\n<main>\n" + body_ + "</main>\n";
    return html + "</body>\n</html>\n";
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as its caller made it
  void add_section(const Section& section, std::size_t level) {
    const std::string id = "section-" + std::to_string(++count_);
    const std::string heading = "h" + std::to_string(std::min<std::size_t>(level, 6));
    const std::string title = escaped(section.title);
    if (level == 2) contents_ += "<li><a href=\"#" + id + "\">" + title + "</a></li>";
    body_ += "<section id=\"" + id + "\">\n<" + heading + ">" + title + "</" + heading + ">\n";
    for (const Block& block : section.blocks) body_ += block_html(block);
    for (const Section& inner : section.sections) add_section(inner, level + 1);
    body_ += "</section>\n";
  }

  std::string contents_;
  std::string body_;
  std::size_t count_ = 0;
};

}  // namespace

std::string render_html(const Document& document) { return Page().text(document); }

}  // namespace polystate::report
