#include "chat_template/rendering.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "chat_template/globals.h"
#include "chat_template/namespace.h"  // IWYU pragma: keep: what is cleared
#include "chat_template/python_text.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {
namespace {

constexpr std::size_t kBytesInStep = 64;
constexpr std::size_t kStepsBetweenLooks = 4096;  // at the clock

}  // namespace

Rendering::Rendering(const Dict& variables, const RenderOptions& options)
    : variables_(variables), options_(options), start_(std::chrono::steady_clock::now()) {}

Rendering::~Rendering() {
  for (const auto& made : namespaces_) made->clear();
}

Value Rendering::fail(std::string_view message) {
  if (!failed()) {
    status_ =
        Error{ErrorCode::kContract, "line " + std::to_string(line_) + ": " + std::string(message)};
  }
  return {};
}

bool Rendering::spend(std::size_t steps) {
  if (failed()) return false;
  steps_ += steps;
  if (steps_ > options_.max_steps) {
    fail("the template takes more than " + std::to_string(options_.max_steps) + " steps");
    return false;
  }
  if (steps_ < next_look_at_clock_) return true;
  next_look_at_clock_ = steps_ + kStepsBetweenLooks;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
  if (taken.count() <= options_.max_seconds) return true;
  fail("the template takes longer than " + std::to_string(options_.max_seconds) + " seconds");
  return false;
}

bool Rendering::fits(std::size_t bytes) {
  if (bytes <= options_.max_text_bytes) return !failed();
  fail("a text would have " + std::to_string(bytes) + " bytes; the limit is " +
       std::to_string(options_.max_text_bytes));
  return false;
}

bool Rendering::may_read_text(std::size_t bytes) { return spend(bytes / kBytesInStep); }

bool Rendering::may_make_text(std::size_t bytes) {
  return fits(bytes) && spend(1 + bytes / kBytesInStep);
}

bool Rendering::may_make_list(std::size_t elements) {
  // The sum of both may be more than a std::size_t holds.
  return spend(elements < options_.max_steps ? 1 + elements : options_.max_steps);
}

Value Rendering::checked(Value value) {
  if (value.depth() > Value::kMaxDepth) {
    return fail("values are more than " + std::to_string(Value::kMaxDepth) +
                " deep in one another");
  }
  if (value.value_count() <= options_.max_steps) return value;
  return fail("a value is made of more than " + std::to_string(options_.max_steps) + " others");
}

bool Rendering::are_equal(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string() && a.text().size() != b.text().size()) return false;
  if (!a.is_string() && a.is_same(b)) return true;
  const std::uint64_t bytes = a.is_string() ? a.text().size() / kBytesInStep : 0;
  return spend(std::min(a.value_count(), b.value_count()) - 1 + bytes) && equal(a, b);
}

bool Rendering::is_key(const Value& value) {
  if (value.is_string()) return may_read_text(value.text().size());
  const bool is_tuple = value.kind() == Value::Kind::kTuple;
  return (!is_tuple || spend(value.value_count())) && is_hashable(value);
}

Rendering::Inside::Inside(Rendering& rendering, std::uint32_t line)
    : rendering_(rendering), line_before_(rendering.line_) {
  rendering.line_ = line;
  if (++rendering.depth_ > rendering.options_.max_depth) {
    rendering.fail("the template is more than " + std::to_string(rendering.options_.max_depth) +
                   " constructs deep, with the calls of its macros");
  }
  rendering.spend(1);
}

Rendering::Inside::~Inside() {
  rendering_.line_ = line_before_;
  --rendering_.depth_;
}

Value Rendering::resolve(const std::string& name) const {
  if (const auto found = top_level_.find(name); found != top_level_.end()) return found->second;
  if (const Value* const variable = variables_.find(name)) return *variable;
  return global(name);
}

void Rendering::write(const Value& value) {
  if (value.is_string()) {
    write(value.text());
  } else {
    write(str_of(*this, value));
  }
}

void Rendering::write(const Text& text) {
  if (fits(output_->size() + text.size()) && spend(1 + text.size() / kBytesInStep))
    output_->append(text);
}

std::tm Rendering::now() const {
  if (options_.now) return options_.now();
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

}  // namespace polystate::chat_template
