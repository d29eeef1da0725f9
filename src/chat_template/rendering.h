#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {

class Namespace;

// One rendering of a template: its variables, its limits, and its failure.
//
// Whatever fails is recorded here, and the first failure stays. The answer is then none, so that an
// evaluation may go on: it looks at `failed` only where it would loop, or do something for good.
class Rendering {
 public:
  Rendering(const Dict& variables, const RenderOptions& options);
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  // Records "line 3: <message>", and gives none.
  Value fail(std::string_view message);
  [[nodiscard]] bool failed() const { return !status_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  // The line of the template that is evaluated.
  [[nodiscard]] std::uint32_t line() const { return line_; }

  // Counts what is done. False, after a failure, when there was too much of it.
  bool spend(std::size_t steps);
  // Whether a text may have so many bytes.
  bool fits(std::size_t bytes);
  // Whether a text of so many bytes may be read, or copied; counts it.
  bool may_read_text(std::size_t bytes);
  // Whether a text of so many bytes, or a list of so many elements, may be made; counts it.
  bool may_make_text(std::size_t bytes);
  bool may_make_list(std::size_t elements);
  // The value, unless it is too deep, or of too many others.
  Value checked(Value value);
  // Python's ==, and whether a value may be a key; both count what is looked at.
  bool are_equal(const Value& a, const Value& b);
  bool is_key(const Value& value);

  // While it lives, the template is one construct deeper, at a line.
  class Inside {
   public:
    Inside(Rendering& rendering, std::uint32_t line);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Rendering& rendering_;
    std::uint32_t line_before_;
  };

  // What a name is outside of all scopes: set at the top of the template, given to it, or known to
  // every template.
  [[nodiscard]] Value resolve(const std::string& name) const;
  void set_top_level(const std::string& name, Value value) { top_level_[name] = std::move(value); }

  // Where statements write. A construct that captures its text puts another one in its place.
  [[nodiscard]] TextBuilder& output() { return *output_; }
  void write(const Value& value);
  void write(const Text& text);
  template <typename Body>
  Text capture(Body&& body);

  // Namespaces may refer to one another, in circles; they are emptied at the end.
  void keep(std::shared_ptr<Namespace> made) { namespaces_.push_back(std::move(made)); }

  // The local time that strftime_now shows.
  [[nodiscard]] std::tm now() const;

 private:
  const Dict& variables_;
  const RenderOptions& options_;
  Status status_;
  std::uint32_t line_ = 0;
  std::size_t depth_ = 0;
  std::size_t steps_ = 0;
  std::size_t next_look_at_clock_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::map<std::string, Value> top_level_;
  TextBuilder root_output_;
  TextBuilder* output_ = &root_output_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

template <typename Body>
Text Rendering::capture(Body&& body) {
  TextBuilder captured;
  TextBuilder* const before = output_;
  output_ = &captured;
  body();
  output_ = before;
  return captured.take();
}

}  // namespace polystate::chat_template
