#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// Where a variable is: in a frame so many scopes further out.
struct Place {
  std::uint32_t scopes_out = 0;
  std::uint32_t slot = 0;
};

// The variables of one scope: of a template, of a loop's or a macro's body. It is filled when the
// template is parsed, in the order in which the template names them, since that decides what a
// variable is before it is set, as in jinja2 (idtracking.py).
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}

  // The three ways to name a variable. What is read, and known nowhere, is looked up outside of all
  // scopes. What is set begins as what it is further out.
  void read(const std::string& name);
  void set(const std::string& name);
  void declare_parameter(const std::string& name);

  // What is set between `branches_begin` and `branches_end` is set in some branches only, so that
  // it begins as what it is outside.
  [[nodiscard]] std::size_t branches_begin() const { return set_.size(); }
  void branches_end(std::size_t begin);

  // Whether a name is known, here or further out.
  [[nodiscard]] bool is_known(const std::string& name) const;
  // The variable of a name that is known.
  [[nodiscard]] Place find(const std::string& name) const;

 private:
  friend class Frame;

  enum class Start : std::uint8_t { kMissing, kOuter, kResolved, kParameter };
  struct Slot {
    std::string name;
    Start start = Start::kMissing;
    Place outer = {};
    bool is_set = false;
  };

  Slot& slot_of(const std::string& name);
  void note_set(Slot& slot);
  void start_outside(Slot& slot) const;

  const Scope* outer_;
  std::map<std::string, std::uint32_t> by_name_;
  std::vector<Slot> slots_;
  std::vector<std::string> set_;  // in the order in which they were
};

// The values of a scope's variables while it is rendered.
class Frame {
 public:
  // Whether the scope is the template's, whose variables blocks see.
  enum class Level : std::uint8_t { kTop, kInner };

  Frame(const Scope& scope, std::shared_ptr<Frame> outer, Level level = Level::kInner);

  // Gives all variables but the parameters what they begin as.
  void start(Rendering& rendering);
  // Lets go of the values, which may refer to the frame.
  void clear();

  [[nodiscard]] Value& at(Place place);
  [[nodiscard]] bool is_top_level() const { return level_ == Level::kTop; }

 private:
  const Scope& scope_;
  std::shared_ptr<Frame> outer_;
  Level level_;
  std::vector<Value> values_;
};

}  // namespace polystate::chat_template
