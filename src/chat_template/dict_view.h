#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "chat_template/object.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// What dict.keys(), dict.values() and dict.items() give.
class DictView : public Object {
 public:
  enum class Part : std::uint8_t { kKeys, kValues, kItems };

  // `dict` is a dict.
  DictView(Value dict, Part part);

  [[nodiscard]] std::string_view type_name() const override;
  [[nodiscard]] bool equals(const Object& other) const override;
  [[nodiscard]] std::optional<std::int64_t> length() const override;
  std::shared_ptr<Iterator> iterate() override;
  std::shared_ptr<Iterator> iterate_backwards() override;
  bool write(Rendering& rendering, TextBuilder& builder) override;

 private:
  [[nodiscard]] Value at(std::size_t i) const;

  Value dict_;
  Part part_;
};

// An item of a dict as Python has it: the tuple of a key and its value.
Value item_of(const Dict::Entry& entry);

}  // namespace polystate::chat_template
