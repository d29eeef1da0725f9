#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"

namespace polystate::cli {

// One thing that two artifacts have differently; what one lacks has no text there.
struct Change {
  std::string section;
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

// All of them, section by section and sorted by name. Artifacts without any are equal, byte for
// byte. Errors are those of facts_of.
Result<std::vector<Change>> differences_of(const Artifact& before, const Artifact& after);

// For people, "" for none: a line begins with "+" where something came, "-" where it went, "~"
// where it changed.
std::string differences_text(const std::vector<Change>& differences, bool has_colour);

// One line of JSON; docs/command_line.md lists the keys.
std::string differences_json(const std::vector<Change>& differences);

}  // namespace polystate::cli
