#include "chat_template/scope.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "chat_template/rendering.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

bool Scope::is_known(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (scope->by_name_.contains(name)) return true;
  }
  return false;
}

Place Scope::find(const std::string& name) const {
  Place place;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_, ++place.scopes_out) {
    const auto found = scope->by_name_.find(name);
    if (found == scope->by_name_.end()) continue;
    place.slot = found->second;
    return place;
  }
  return {};
}

Scope::Slot& Scope::slot_of(const std::string& name) {
  const auto [found, is_new] =
      by_name_.try_emplace(name, static_cast<std::uint32_t>(slots_.size()));
  if (is_new) slots_.push_back({name});
  return slots_[found->second];
}

void Scope::start_outside(Slot& slot) const {
  if (outer_ == nullptr || !outer_->is_known(slot.name)) return;
  slot.start = Start::kOuter;
  slot.outer = outer_->find(slot.name);
}

void Scope::read(const std::string& name) {
  if (!is_known(name)) slot_of(name).start = Start::kResolved;
}

void Scope::note_set(Slot& slot) {
  if (!slot.is_set) set_.push_back(slot.name);
  slot.is_set = true;
}

void Scope::set(const std::string& name) {
  const bool is_new = !by_name_.contains(name);
  Slot& slot = slot_of(name);
  if (is_new) start_outside(slot);
  note_set(slot);
}

void Scope::declare_parameter(const std::string& name) {
  Slot& slot = slot_of(name);
  slot.start = Start::kParameter;
  note_set(slot);
}

void Scope::branches_end(std::size_t begin) {
  for (std::size_t i = begin; i < set_.size(); ++i) {
    Slot& slot = slot_of(set_[i]);
    slot.start = Start::kResolved;
    start_outside(slot);
  }
}

Frame::Frame(const Scope& scope, std::shared_ptr<Frame> outer, Level level)
    : scope_(scope),
      outer_(std::move(outer)),
      level_(level),
      values_(scope.slots_.size(), Value::missing()) {}

void Frame::start(Rendering& rendering) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Scope::Slot& slot = scope_.slots_[i];
    switch (slot.start) {
      case Scope::Start::kMissing:
        values_[i] = Value::missing();
        break;
      case Scope::Start::kOuter:
        values_[i] = outer_->at(slot.outer);
        break;
      case Scope::Start::kResolved:
        values_[i] = rendering.resolve(slot.name);
        break;
      case Scope::Start::kParameter:
        break;
    }
  }
}

void Frame::clear() { std::ranges::fill(values_, Value::missing()); }

Value& Frame::at(Place place) {
  Frame* frame = this;
  for (std::uint32_t i = 0; i < place.scopes_out; ++i) frame = frame->outer_.get();
  return frame->values_[place.slot];
}

}  // namespace polystate::chat_template
