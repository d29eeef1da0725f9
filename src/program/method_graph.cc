#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "polystate/report/document.h"
#include "program/data_flow.h"
#include "program/groups.h"
#include "program/pictures.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using report::Tone;

// What a picture shows of a value at most.
constexpr std::size_t kMostText = 160;
constexpr std::size_t kMostEdges = std::size_t{1} << 18U;

std::string short_text(const Method& method, std::size_t value) {
  std::string text = value_text(method, value);
  if (text.size() > kMostText) text = text.substr(0, kMostText) + "...";
  return text;
}

std::string type_of(const Method& method, std::size_t value) {
  const Tensor* const tensor = tensor_of(method, value);
  return tensor == nullptr ? std::string() : type_text(*tensor);
}

std::string name_at(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

class GraphMaker {
 public:
  GraphMaker(const Method& method, const MethodNames& names)
      : method_(method),
        names_(names),
        uses_(uses_of(method)),
        states_(state_values(method)),
        groups_(graph_.groups) {
    graph_.caption = method.name;
  }

  report::Graph graph() && {
    add_inputs();
    add_states();
    for (std::size_t i = 0; i < method_.instructions.size(); ++i) add_instruction(i);
    add_outputs();
    add_new_states();
    return std::move(graph_);
  }

 private:
  std::size_t add_node(report::GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }

  void add_inputs() {
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const std::size_t value = method_.inputs[i];
      writers_[states_[value]] = {
          add_node({.label = "input " + name_at(names_.inputs, i),
                    .note = type_of(method_, value),
                    .group = groups_.index("inputs and outputs", Tone::kTeal)})};
    }
  }

  // States that some instruction reads.
  void add_states() {
    for (const Uses& uses : uses_) {
      for (const std::size_t value : uses.reads) {
        const Tensor* const tensor = tensor_of(method_, value);
        const std::size_t state = states_[value];
        if (tensor == nullptr || !is_state(*tensor) || writers_.contains(state)) continue;
        writers_[state] = {add_state_node(state, "state ")};
      }
    }
  }

  std::size_t add_state_node(std::size_t state, const std::string& prefix) {
    return add_node({.label = prefix + state_name(state),
                     .note = type_of(method_, state),
                     .group = groups_.index("state", Tone::kViolet)});
  }

  [[nodiscard]] std::string state_name(std::size_t state) const {
    const std::string& name = tensor_of(method_, state)->name;
    return name.empty() ? "at byte " + std::to_string(offset_of(*tensor_of(method_, state))) : name;
  }

  void add_instruction(std::size_t index) {
    const Instruction& instruction = method_.instructions[index];
    if (instruction.kind == Instruction::Kind::kFree) return;
    const Uses& uses = uses_[index];
    const std::string result =
        uses.writes.empty() ? std::string() : type_of(method_, uses.writes.front());
    const std::size_t node = add_node({.label = name_of(method_, instruction),
                                       .note = result,
                                       .details = details_of(index),
                                       .group = group_of(instruction)});
    for (const std::size_t value : uses.reads) add_edges(value, node);
    const bool is_move = instruction.kind == Instruction::Kind::kMove;
    for (const std::size_t value : uses.writes) add_writer(states_[value], node, is_move);
  }

  // The moves at the ends of branches write one value; what reads it may have that of any.
  void add_writer(std::size_t value, std::size_t node, bool is_move) {
    constexpr std::size_t kMostMoves = 64;
    std::vector<std::size_t>& writers = writers_[value];
    const bool follows_moves = is_move && moved_.contains(value) && writers.size() < kMostMoves;
    if (!follows_moves) writers.clear();
    writers.push_back(node);
    if (is_move) {
      moved_.insert(value);
    } else {
      moved_.erase(value);
    }
    const Tensor* const tensor = tensor_of(method_, value);
    if (tensor != nullptr && is_state(*tensor)) written_states_.insert(value);
  }

  void add_edges(std::size_t value, std::size_t to) {
    const auto found = writers_.find(states_[value]);
    if (found == writers_.end()) return;
    if (graph_.edges.size() > kMostEdges) return;  // no picture shows them
    for (const std::size_t from : found->second)
      graph_.edges.push_back({.from = from, .to = to, .label = short_text(method_, value)});
  }

  std::optional<std::size_t> group_of(const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::Kind::kDelegate:
        return groups_.index("delegated to " + name_of(method_, instruction), Tone::kBlue);
      case Instruction::Kind::kKernel:
        if (!only_copies(name_of(method_, instruction))) return std::nullopt;
        return groups_.index("copies of data", Tone::kWarning);
      case Instruction::Kind::kMove:
      case Instruction::Kind::kJump:
      case Instruction::Kind::kFree:
        break;
    }
    return groups_.index("branches and loops", Tone::kMuted);
  }

  [[nodiscard]] std::string details_of(std::size_t index) const {
    const Instruction& instruction = method_.instructions[index];
    std::string text = "instruction " + std::to_string(index);
    if (instruction.kind == Instruction::Kind::kDelegate)
      text += "\n" + std::to_string(method_.delegates[instruction.target].data.size()) + " bytes";
    for (const std::size_t value : instruction.arguments) {
      const Tensor* const tensor = tensor_of(method_, value);
      const bool is_weight = tensor != nullptr && is_constant(*tensor);
      text += "\n" + std::string(is_weight ? "constant " : "") + short_text(method_, value);
    }
    return text;
  }

  void add_outputs() {
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      const std::size_t value = method_.outputs[i];
      const std::size_t node =
          add_node({.label = "output " + name_at(names_.outputs, i),
                    .note = type_of(method_, value),
                    .group = groups_.index("inputs and outputs", Tone::kTeal)});
      add_edges(value, node);
    }
  }

  void add_new_states() {
    for (const std::size_t state : written_states_) {
      const std::size_t node = add_state_node(state, "new state ");
      add_edges(state, node);
    }
  }

  const Method& method_;
  const MethodNames& names_;
  std::vector<Uses> uses_;
  std::vector<std::size_t> states_;
  report::Graph graph_;
  Groups groups_;
  // By value (a state's first one): the nodes that its value at this point comes from.
  std::map<std::size_t, std::vector<std::size_t>> writers_;
  std::set<std::size_t> moved_;  // values whose writers are moves
  std::set<std::size_t> written_states_;
};

}  // namespace

report::Graph graph_of(const Method& method, const MethodNames& names) {
  return GraphMaker(method, names).graph();
}

}  // namespace polystate::program
