#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polystate/report/document.h"
#include "program/program.h"

namespace polystate::program {

// How the manifest calls a method's inputs and outputs; those without a name are numbered.
struct MethodNames {
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
};

// What a method computes: a node for each instruction, input, output and state, an edge for each
// value from what writes it to what reads it. A state that is written has a second node, of its new
// value. Constants are in the details of what reads them.
report::Graph graph_of(const Method& method, const MethodNames& names);

// Where and for how long the tensors of a method lie in the arena of activations.
report::MemoryPlan memory_plan_of(const Method& method);

// When a method reads and writes its states.
report::Timeline state_timeline_of(const Method& method);

// Pictures of what a page has room for. Both return how much they leave out: all but the `most`
// largest blocks; of more than `most` spans those from a step on, which the timeline ends before,
// and the rows that have no other.
std::size_t keep_largest_blocks(report::MemoryPlan& plan, std::size_t most);
std::size_t keep_first_spans(report::Timeline& timeline, std::size_t most);

}  // namespace polystate::program
