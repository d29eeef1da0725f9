#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {

// Text that a document gave, made fit for a message: what is not printable ASCII becomes '?', and
// the end of long text "...".
std::string shortened(std::string_view text);
// The same in double quotes.
std::string in_quotes(std::string_view text);

// The way to a value in a JSON document: methods[0].inputs[1].dtype, files["golden.npz"]; empty for
// the document itself.
class JsonPath {
 public:
  [[nodiscard]] JsonPath element(std::size_t index) const;
  [[nodiscard]] JsonPath member(std::string_view name) const;

  // The path and ": ", to begin a message with; nothing for the document itself.
  [[nodiscard]] std::string prefix() const { return text_.empty() ? "" : text_ + ": "; }

 private:
  std::string text_;
};

}  // namespace polystate
