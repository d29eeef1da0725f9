#include "chat_template/dict_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/object.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

DictView::DictView(Value dict, Part part)
    : Object(dict.depth(), dict.value_count()), dict_(std::move(dict)), part_(part) {}

std::string_view DictView::type_name() const {
  return part_ == Part::kKeys ? "dict_keys" : part_ == Part::kValues ? "dict_values" : "dict_items";
}

// Views of keys and of items are equal as sets are.
bool DictView::equals(const Object& other) const {
  const auto* const view = dynamic_cast<const DictView*>(&other);
  if (view == nullptr || part_ == Part::kValues || part_ != view->part_) return this == &other;
  const Dict& dict = dict_.dict();
  return dict.size() == view->dict_.dict().size() &&
         std::ranges::all_of(dict.entries(), [&](const Dict::Entry& entry) {
           const Value* const found = view->dict_.dict().find(entry.first);
           return found != nullptr && (part_ == Part::kKeys || equal(*found, entry.second));
         });
}

std::optional<std::int64_t> DictView::length() const {
  return static_cast<std::int64_t>(dict_.dict().size());
}

Value DictView::at(std::size_t i) const {
  const Dict::Entry& entry = dict_.dict().entries()[i];
  return part_ == Part::kKeys     ? entry.first
         : part_ == Part::kValues ? entry.second
                                  : item_of(entry);
}

std::shared_ptr<Iterator> DictView::iterate() {
  return make_iterator(depth(),
                       [view = Value::object(shared_from_this()), this,
                        i = std::size_t{0}](Rendering&) mutable -> std::optional<Value> {
                         return i < dict_.dict().size() ? std::optional(at(i++)) : std::nullopt;
                       });
}

std::shared_ptr<Iterator> DictView::iterate_backwards() {
  return make_iterator(
      depth(), [view = Value::object(shared_from_this()), this, i = dict_.dict().size()](
                   Rendering&) mutable { return i > 0 ? std::optional(at(--i)) : std::nullopt; });
}

bool DictView::write(Rendering& rendering, TextBuilder& builder) {
  builder.append(std::string(type_name()) + "([", Origin::kTemplate);
  Elements all;
  for (std::size_t i = 0; i < dict_.dict().size(); ++i) all.push_back(at(i));
  write_reprs(rendering, all, builder);
  builder.append("])", Origin::kTemplate);
  return true;
}

Value item_of(const Dict::Entry& entry) { return Value::tuple({entry.first, entry.second}); }

}  // namespace polystate::chat_template
