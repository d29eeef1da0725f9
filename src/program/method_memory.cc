#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
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

// The instructions that use a value, from the first to the last.
struct Life {
  std::size_t first;
  std::size_t last;
  std::optional<std::size_t> writer;  // the first instruction that writes it
};

using Lives = std::vector<std::optional<Life>>;

Life& extend(std::optional<Life>& known, std::size_t instruction) {
  if (!known.has_value()) return known.emplace(Life{instruction, instruction, std::nullopt});
  Life& life = *known;
  life.first = std::min(life.first, instruction);
  life.last = std::max(life.last, instruction);
  return life;
}

Lives lives_of(const Method& method) {
  Lives lives(method.values.size());
  const std::vector<Uses> uses = uses_of(method);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (const std::size_t value : uses[i].reads) extend(lives[value], i);
    for (const std::size_t value : uses[i].writes) {
      Life& life = extend(lives[value], i);
      if (!life.writer.has_value()) life.writer = i;
    }
  }
  if (uses.empty()) return lives;
  for (const std::size_t input : method.inputs) extend(lives[input], 0);
  for (const std::size_t output : method.outputs) extend(lives[output], uses.size() - 1);
  return lives;
}

std::uint64_t end_of(const Tensor& tensor) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - offset_of(tensor);
  return offset_of(tensor) + std::min(room, tensor.bytes);
}

bool is_activation(const Tensor& tensor) {
  return tensor.place.has_value() && tensor.place->arena == kActivations && tensor.bytes > 0;
}

class PlanMaker {
 public:
  explicit PlanMaker(const Method& method)
      : method_(method),
        is_input_(marked(method.inputs)),
        is_output_(marked(method.outputs)),
        groups_(plan_.groups) {}

  report::MemoryPlan plan() && {
    plan_.steps = method_.instructions.size();
    if (method_.arena_bytes.size() > kActivations) plan_.bytes = method_.arena_bytes[kActivations];
    const Lives lives = lives_of(method_);
    for (std::size_t value = 0; value < lives.size(); ++value) {
      const Tensor* const tensor = tensor_of(method_, value);
      const std::optional<Life>& life = lives[value];
      if (tensor != nullptr && is_activation(*tensor) && life.has_value())
        add_block(value, *tensor, *life);
    }
    return std::move(plan_);
  }

 private:
  void add_block(std::size_t value, const Tensor& tensor, const Life& life) {
    plan_.bytes = std::max(plan_.bytes, end_of(tensor));
    const std::string writer =
        life.writer.has_value() ? name_of(method_, method_.instructions[*life.writer]) : "";
    plan_.blocks.push_back({.label = type_text(tensor),
                            .details = writer.empty() ? writer : "written by " + writer,
                            .first = life.first,
                            .last = life.last,
                            .offset = offset_of(tensor),
                            .bytes = tensor.bytes,
                            .group = group_of(value, life)});
  }

  [[nodiscard]] std::vector<bool> marked(const std::vector<std::size_t>& values) const {
    std::vector<bool> marks(method_.values.size(), false);
    for (const std::size_t value : values) marks[value] = true;
    return marks;
  }

  std::size_t group_of(std::size_t value, const Life& life) {
    if (is_output_[value]) return groups_.index("outputs", Tone::kTeal);
    if (is_input_[value]) return groups_.index("inputs", Tone::kViolet);
    if (life.writer.has_value()) {
      const Instruction& writer = method_.instructions[*life.writer];
      if (writer.kind == Instruction::Kind::kDelegate)
        return groups_.index("results of delegates", Tone::kBlue);
      if (writer.kind == Instruction::Kind::kKernel && only_copies(name_of(method_, writer)))
        return groups_.index("copies of data", Tone::kWarning);
    }
    return groups_.index("results of kernels", Tone::kGood);
  }

  const Method& method_;
  std::vector<bool> is_input_;
  std::vector<bool> is_output_;
  report::MemoryPlan plan_;
  Groups groups_;
};

}  // namespace

report::MemoryPlan memory_plan_of(const Method& method) { return PlanMaker(method).plan(); }

report::Timeline state_timeline_of(const Method& method) {
  report::Timeline timeline{.steps = method.instructions.size()};
  Groups groups(timeline.groups);
  const std::vector<std::size_t> states = state_values(method);
  const std::vector<Uses> uses = uses_of(method);
  std::vector<std::size_t> row_of(states.size(), std::numeric_limits<std::size_t>::max());
  const auto add = [&](std::size_t value, std::size_t step, bool writes) {
    const Tensor* const tensor = tensor_of(method, value);
    if (tensor == nullptr || !is_state(*tensor)) return;
    std::size_t& row = row_of[states[value]];
    if (row >= timeline.rows.size()) {
      row = timeline.rows.size();
      timeline.rows.push_back({.label = tensor_of(method, states[value])->name});
    }
    timeline.rows[row].spans.push_back({.first = step,
                                        .last = step,
                                        .label = name_of(method, method.instructions[step]),
                                        .group = writes ? groups.index("writes", Tone::kWarning)
                                                        : groups.index("reads", Tone::kBlue)});
  };
  for (std::size_t step = 0; step < uses.size(); ++step) {
    for (const std::size_t value : uses[step].reads) add(value, step, /*writes=*/false);
    for (const std::size_t value : uses[step].writes) add(value, step, /*writes=*/true);
  }
  return timeline;
}

std::size_t keep_largest_blocks(report::MemoryPlan& plan, std::size_t most) {
  if (plan.blocks.size() <= most) return 0;
  const std::size_t left_out = plan.blocks.size() - most;
  std::ranges::stable_sort(plan.blocks, std::ranges::greater(), &report::PlannedBlock::bytes);
  plan.blocks.resize(most);
  return left_out;
}

std::size_t keep_first_spans(report::Timeline& timeline, std::size_t most) {
  std::vector<std::size_t> steps;
  for (const report::TimelineRow& row : timeline.rows) {
    for (const report::Span& span : row.spans) steps.push_back(span.first);
  }
  if (steps.size() <= most) return 0;
  const auto first_left_out = steps.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(steps, first_left_out);
  timeline.steps = *first_left_out;
  std::size_t left_out = 0;
  for (report::TimelineRow& row : timeline.rows) {
    left_out += std::erase_if(
        row.spans, [&](const report::Span& span) { return span.first >= timeline.steps; });
  }
  std::erase_if(timeline.rows, [](const report::TimelineRow& row) { return row.spans.empty(); });
  return left_out;
}

}  // namespace polystate::program
