#include "grammar/schema_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;
using Limits = std::numeric_limits<std::int64_t>;

constexpr std::int64_t kExact = 9007199254740991;  // 2^53 - 1
constexpr double kBeyond = 9223372036854775808.0;  // 2^63

constexpr std::string_view kNumberWords[] = {"minimum", "exclusiveMinimum", "maximum",
                                             "exclusiveMaximum", "multipleOf"};

Error unsupported(const std::string& message) { return {ErrorCode::kUnsupported, message}; }

// The words of the limits of one side. `sign`: 1 where these are the largest numbers.
struct Side {
  std::string_view inclusive;
  std::string_view exclusive;
  int sign;

  // The stricter of two limits.
  template <typename Number>
  [[nodiscard]] Number stricter(Number one, Number other) const {
    return sign > 0 ? std::min(one, other) : std::max(one, other);
  }
};
constexpr Side kLower = {"minimum", "exclusiveMinimum", -1};
constexpr Side kUpper = {"maximum", "exclusiveMaximum", 1};

// The next whole number within a limit.
Result<std::int64_t> whole_limit(const Written& value, std::string_view word, const Side& side) {
  const bool is_exclusive = word == side.exclusive;
  const auto refused = [&] {
    return unsupported("'" + std::string(word) + "' is " + value.dump() +
                       ", and whole numbers are of 64 bits");
  };
  if (value.is_number_integer() && !value.is_number_unsigned()) {
    const auto limit = value.get<std::int64_t>();
    if (!is_exclusive) return limit;
    if (limit == (side.sign > 0 ? Limits::min() : Limits::max())) return refused();
    return limit - side.sign;
  }
  const auto given = value.get<double>();
  const double whole = side.sign > 0 ? std::floor(given) : std::ceil(given);
  if (side.sign * whole >= kBeyond) return side.sign > 0 ? Limits::max() : Limits::min();
  if (side.sign * whole <= -kBeyond) return refused();
  const auto limit = static_cast<std::int64_t>(whole);
  return is_exclusive && whole == given ? limit - side.sign : limit;
}

// The stricter of a side's limits; nothing where it has none.
Result<std::optional<std::int64_t>> whole_limit(const Written& schema, const Side& side) {
  std::optional<std::int64_t> found;
  for (const std::string_view word : {side.inclusive, side.exclusive}) {
    if (!schema.contains(word)) continue;
    const Result<std::int64_t> limit = whole_limit(schema.at(word), word, side);
    if (!limit) return limit.error();
    found = side.stricter(found.value_or(*limit), *limit);
  }
  return found;
}

// Refuses multiples that xgrammar would leave out of account.
Status check_multiple(const Written& multiple, std::optional<std::int64_t> least,
                      std::optional<std::int64_t> most) {
  constexpr double kLargest = 1024;
  constexpr std::uint64_t kWidest = 10'000;
  const auto value = multiple.get<double>();
  if (value <= 0) return Error{ErrorCode::kContract, "'multipleOf' must be more than 0"};
  if (value != std::floor(value) || value > kLargest) {
    return unsupported("'multipleOf' is " + multiple.dump() +
                       ", and is enforced where it is a whole number of at most 1024");
  }
  if (!least && !most) return {};
  const bool is_narrow =
      least && most &&
      static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(*least) < kWidest;
  if (is_narrow) return {};
  return unsupported(
      "'multipleOf' is enforced without limits, or beside 'minimum' and 'maximum' that have at "
      "most 10000 numbers");
}

// The limit of a side that has none, where the other one has `other`.
std::int64_t default_limit(const Side& side, double other) {
  if (side.sign * other > static_cast<double>(kExact))
    return side.sign > 0 ? Limits::max() : Limits::min();
  return side.sign * kExact;
}

Status settle_integer(Written& schema) {
  const auto lower = whole_limit(schema, kLower);
  if (!lower) return lower.error();
  const auto upper = whole_limit(schema, kUpper);
  if (!upper) return upper.error();
  std::optional<std::int64_t> least = *lower;
  std::optional<std::int64_t> most = *upper;
  if (least && most && *least > *most)
    return Error{ErrorCode::kContract, "no whole number is within its limits"};
  if (schema.contains("multipleOf")) {
    if (const Status status = check_multiple(schema["multipleOf"], least, most); !status)
      return status;
  } else {
    if (!least) least = default_limit(kLower, static_cast<double>(most.value_or(0)));
    if (!most) most = default_limit(kUpper, static_cast<double>(*least));
  }
  for (const std::string_view word : {kLower.exclusive, kUpper.exclusive}) schema.erase(word);
  if (least) schema["minimum"] = *least;
  if (most) schema["maximum"] = *most;
  return {};
}

// Of numbers with limits xgrammar writes so many decimals at most, and no exponent.
constexpr double kGrid = 1e6;

// A side's limit, as whole numbers of the grid.
double limit_on_grid(const Written& schema, const Side& side) {
  double found = side.sign * kBeyond * kGrid;
  for (const std::string_view word : {side.inclusive, side.exclusive}) {
    if (!schema.contains(word)) continue;
    const double given = schema.at(word).get<double>() * kGrid;
    double limit = side.sign > 0 ? std::floor(given) : std::ceil(given);
    if (word == side.exclusive && limit == given) limit -= side.sign;
    found = side.stricter(found, limit);
  }
  return found;
}

// Brings the limits of one side within 64 bits.
Status bound_side(Written& schema, const Side& side) {
  for (const std::string_view word : {side.inclusive, side.exclusive}) {
    if (!schema.contains(word)) continue;
    const double limit = side.sign * schema.at(word).get<double>();
    if (limit <= -kBeyond) {
      return unsupported("'" + std::string(word) + "' is " + schema.at(word).dump() +
                         ", and numbers with limits are of 64 bits");
    }
    if (limit < kBeyond) continue;
    schema.erase(word);
    if (!schema.contains(side.inclusive))
      schema[std::string(side.inclusive)] = side.sign > 0 ? Limits::max() : Limits::min();
  }
  return {};
}

// Gives a side a limit that has none.
void limit_side(Written& schema, const Side& side, const Side& others) {
  if (schema.contains(side.inclusive) || schema.contains(side.exclusive)) return;
  double other = 0;
  for (const std::string_view word : {others.inclusive, others.exclusive}) {
    if (schema.contains(word)) other = others.stricter(other, schema.at(word).get<double>());
  }
  schema[std::string(side.inclusive)] = default_limit(side, other);
}

Status settle_number(Written& schema) {
  for (const Side& side : {kLower, kUpper}) {
    if (const Status status = bound_side(schema, side); !status) return status;
  }
  limit_side(schema, kLower, kUpper);
  limit_side(schema, kUpper, kLower);
  if (limit_on_grid(schema, kLower) <= limit_on_grid(schema, kUpper)) return {};
  return unsupported("no number of at most 6 decimals is within its limits");
}

}  // namespace

Status settle_numbers(Written& schema) {
  bool has_limit = false;
  for (const std::string_view word : kNumberWords) {
    if (!schema.contains(word)) continue;
    has_limit = true;
    const Written& value = schema.at(word);
    if (!value.is_number()) {
      return Error{ErrorCode::kContract,
                   "'" + std::string(word) + "' must be a number, is " + value.dump()};
    }
  }
  // Whole multiples are whole.
  if (schema["type"] == "integer" || schema.contains("multipleOf")) {
    schema["type"] = "integer";
    return settle_integer(schema);
  }
  return has_limit ? settle_number(schema) : Status();
}

}  // namespace polystate::grammar
