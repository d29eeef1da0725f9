#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/text_pattern.h"

namespace polystate::grammar {

// How xgrammar writes a value. In styles with tags a call's arguments are not an object of JSON,
// and texts among them have neither quotation marks nor escapes; what is in an argument is JSON.
enum class ValueLevel : std::uint8_t {
  kArguments,
  kArgument,
  kJson,
  kEither,  // any of these: some styles write texts plainly at any depth
};

// Of the values in a value.
ValueLevel level_inside(ValueLevel level);

// How the texts of a level are written.
TextForm form_at(ValueLevel level);

// A schema that a reference names, as it is at one level.
struct SchemaDefinition {
  std::string path;  // for messages
  const Json* schema;
  ValueLevel level;
  std::vector<std::size_t> leads_to = {};  // definitions of the same value, by index
};

// The schemas that references name, each once for a level: xgrammar reads references without
// escapes, and a schema's texts are written otherwise at other levels. The first one is that of the
// whole.
class SchemaDefinitions {
 public:
  // Returns the index of a schema's definition, and adds the definition if it is new. References to
  // definitions stay valid.
  std::size_t index_of(const Json& schema, ValueLevel level, const std::string& path);

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  SchemaDefinition& operator[](std::size_t index) { return all_[index]; }

  // The reference by which xgrammar finds one.
  static std::string reference_to(std::size_t index);

  // Returns a definition that is in a circle of definitions, or leads into one; nullptr if there is
  // no circle.
  [[nodiscard]] const SchemaDefinition* circle() const;

  // The schema of the whole with the others in it, from what xgrammar is given of each.
  static nlohmann::ordered_json joined(std::vector<nlohmann::ordered_json> contents);

 private:
  std::deque<SchemaDefinition> all_;
  std::map<std::pair<const Json*, ValueLevel>, std::size_t> indices_;
};

}  // namespace polystate::grammar
