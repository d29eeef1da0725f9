#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "chat_template/object.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// What `loop` is in a for loop.
class Loop : public Object {
 public:
  // Renders the body of a recursive loop over other values, so many loops deep.
  using Recurse = std::function<Value(const Value& iterable, std::int64_t depth)>;

  // `recurse` is empty where the loop is not recursive.
  Loop(Value iterable, std::shared_ptr<Iterator> iterator, std::int64_t depth, Recurse recurse);

  // Goes to the next value; false at the end.
  bool advance(Rendering& rendering);
  [[nodiscard]] const Value& current() const { return current_; }
  // Lets go of what may refer to the loop itself.
  void finish();

  [[nodiscard]] std::string_view type_name() const override { return "LoopContext"; }
  [[nodiscard]] bool is_callable() const override { return true; }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;
  Value call(Rendering& rendering, const Arguments& arguments) override;
  bool write(Rendering& rendering, TextBuilder& builder) override;

  Value cycle(Rendering& rendering, const Arguments& arguments) const;
  Value changed(Rendering& rendering, const Arguments& arguments);

 private:
  std::int64_t count(Rendering& rendering);
  // The next value, which stays the next.
  const std::optional<Value>& peek(Rendering& rendering);

  Value iterable_;
  std::shared_ptr<Iterator> iterator_;
  std::int64_t loop_depth_;
  Recurse recurse_;
  std::int64_t index_ = -1;
  std::optional<std::int64_t> count_;
  Value before_;  // both: none before there is one
  Value current_;
  bool peeked_ = false;
  std::optional<Value> after_;  // where it was looked at
  std::optional<Value> last_changed_;
};

}  // namespace polystate::chat_template
