#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "chat_template/object.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// One of the tuples that groupby gives, whose elements have names, too.
class Group : public Object {
 public:
  Group(Value grouper, Value list)
      : Object(std::max(grouper.depth(), list.depth()) + 1,
               grouper.value_count() + list.value_count() + 1),
        pair_(Value::tuple({std::move(grouper), std::move(list)})) {}

  [[nodiscard]] std::string_view type_name() const override { return "tuple"; }
  [[nodiscard]] std::optional<std::int64_t> length() const override { return 2; }
  [[nodiscard]] bool equals(const Object& other) const override {
    const auto* const group = dynamic_cast<const Group*>(&other);
    return group != nullptr && equal(pair_, group->pair_);
  }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;
  std::optional<Value> item(Rendering& rendering, const Value& key) override;
  std::shared_ptr<Iterator> iterate() override { return chat_template::iterate(pair_); }
  bool write(Rendering& rendering, TextBuilder& builder) override;

 private:
  Value pair_;
};

}  // namespace polystate::chat_template
