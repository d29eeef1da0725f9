#pragma once

#include <cstdint>
#include <string_view>

#include "core/json.h"

namespace polystate::grammar {

// Which values a word of a schema says something about.
enum class About : std::uint8_t {
  kAlone,   // of any type: nothing else may be said of them beside it
  kType,    // `type` itself
  kObject,  // those of one type
  kArray,
  kString,
  kNumber,
};

// What the value of a word is.
enum class Holds : std::uint8_t { kValue, kReference, kSchema, kSchemas, kNamedSchemas };

struct SchemaWord {
  std::string_view name;
  About about;
  Holds holds = Holds::kValue;
};

// A word that is enforced; nullptr where it is not.
const SchemaWord* find_word(std::string_view name);

// Whether a word says nothing about which values are valid, whatever its value or with this one.
bool says_nothing(std::string_view name, const Json& value);

// Whether a word about values of one type (`about`) says something about those of a type.
bool is_about(About about, std::string_view type);

// The type that a word speaks of.
std::string_view type_of(About about);

// The type of a value: "integer" rather than "number" where it is both.
std::string_view type_of(const Json& value);

// Whether values of a type are of another one as well.
bool is_within(std::string_view type, std::string_view other);

}  // namespace polystate::grammar
