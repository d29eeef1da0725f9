#pragma once

#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/report/document.h"

namespace polystate::report {

// One page of HTML that needs nothing else: no script, no network. Whatever a text holds is shown
// as text; what could change how the text around it looks is shown by its code ("U+202E").
std::string render_html(const Document& document);

// Files of pictures alone. DOT is the language of Graphviz.
std::string graph_svg(const Graph& graph);
std::string graph_dot(const Graph& graph);
std::string flame_svg(const FlameGraph& flames);

// Reads a report from JSON. kContract with the way to the first value that is not as it must be;
// keys that are not listed here are refused. Optional ones have a question mark; a text is empty
// and a list has no elements without its key.
//
//   document   {"title", "subtitle"?, "sections": [section...]}
//   section    {"title", "blocks"?: [block...], "sections"?: [section...]}
//   block      one of
//     {"kind": "text", "text", "tone"?}
//     {"kind": "code", "text", "caption"?, "first_line"?: 1, "diff"?: false,
//      "marks"?: [{"line": number, "tone"?: "warning", "note"?}]}
//     {"kind": "facts", "facts": [{"name", "value": cell}]}
//     {"kind": "table", "caption"?, "columns": [title or {"title", "right"?: false}],
//      "rows": [[cell...]]}
//     {"kind": "graph", "caption"?, "groups"?,
//      "nodes": [{"label", "note"?, "details"?, "group"?}],
//      "edges": [{"from": node, "to": node, "label"?}]}
//     {"kind": "memory_plan", "caption"?, "groups"?, "steps": count, "bytes": of the arena,
//      "blocks": [{"label", "details"?, "first": step, "last": step, "offset", "bytes", "group"?}]}
//     {"kind": "bars", "caption"?, "groups"?,
//      "bars": [{"label", "value": number, "text"?, "details"?, "group"?}]}
//     {"kind": "timeline", "caption"?, "groups"?, "steps": count,
//      "rows": [{"label", "spans": [{"first": step, "last": step, "label"?, "group"?}]}]}
//     {"kind": "flame_graph", "caption"?, "unit"?, "groups"?,
//      "flames": [{"label", "value": number, "parent"?: index of an earlier one, "details"?,
//                  "group"?}]}
//     {"kind": "details", "summary", "blocks": [block...]}
//   cell       a text, or {"text", "tone"?, "code"?: false}
//   groups     [{"name", "tone"?}], shown as a legend; "group" is an index of them
//   tone       "plain" (the default), "muted", "good", "warning", "bad", "blue", "violet", "teal"
//
// Nodes, steps, lines and groups: document.h says what they mean. Steps and nodes count from 0.
Result<Document> read_report(std::string_view json);

}  // namespace polystate::report
