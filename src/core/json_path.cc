#include "core/json_path.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "core/names.h"
#include "core/text.h"

namespace polystate {

std::string json_step(std::size_t index) { return "[" + std::to_string(index) + "]"; }

std::string json_step(std::string_view name) {
  return is_identifier(name) ? "." + std::string(name) : "[" + in_quotes(name) + "]";
}

std::string json_place(std::string_view document, std::string_view steps) {
  if (steps.starts_with('.')) steps.remove_prefix(1);
  std::string place;
  for (const std::string_view part : {document, steps}) {
    if (!part.empty()) place += std::string(part) + ": ";
  }
  return place;
}

}  // namespace polystate
