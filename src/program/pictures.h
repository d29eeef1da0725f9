#pragma once

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

}  // namespace polystate::program
