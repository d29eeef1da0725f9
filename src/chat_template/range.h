#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "chat_template/object.h"
#include "chat_template/operators.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// Python's range.
class Range : public Object {
 public:
  // As many as the sandbox allows.
  static constexpr std::int64_t kMaxCount = 100'000;

  // `step` is not 0.
  Range(std::int64_t start, std::int64_t stop, std::int64_t step);

  [[nodiscard]] std::string_view type_name() const override { return "range"; }
  [[nodiscard]] bool equals(const Object& other) const override;
  [[nodiscard]] std::optional<std::int64_t> length() const override { return count_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool has_items() const override { return true; }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;
  std::optional<Value> item(Rendering& rendering, const Value& key) override;
  std::shared_ptr<Iterator> iterate() override;
  std::shared_ptr<Iterator> iterate_backwards() override;
  bool write(Rendering& rendering, TextBuilder& builder) override;

  [[nodiscard]] Value sliced(Rendering& rendering, const Slice& slice) const;

 private:
  [[nodiscard]] Value at(std::int64_t i) const { return Value::integer(start_ + i * step_); }

  std::int64_t start_;
  std::int64_t stop_;
  std::int64_t step_;
  std::int64_t count_;
};

}  // namespace polystate::chat_template
