#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that look elements up among others.
namespace polystate {
namespace {

constexpr std::int64_t kStepsOfASearch = 16;

// What is looked up, and where.
struct Lookup {
  TensorArgument boundaries;
  TensorArgument values;
  // Where the boundaries are in their order, as many as they are; empty where they are in order.
  std::vector<std::int64_t> order;
  bool after_equals = false;  // the place behind equal boundaries, not before them
  bool is_small = false;      // places of 32 bits
  std::size_t out = 0;
};

Status check(const Lookup& lookup) {
  const TensorArgument& boundaries = lookup.boundaries;
  const TensorArgument& values = lookup.values;
  if (Status row_major = require_row_major(boundaries, "boundaries"); !row_major) return row_major;
  if (Status row_major = require_row_major(values, "values"); !row_major) return row_major;
  if (boundaries.dtype() != values.dtype()) {
    return Error{ErrorCode::kEngine, "boundaries and values differ in their type"};
  }
  const auto rank = static_cast<std::size_t>(boundaries.rank());
  if (rank == 0) return Error{ErrorCode::kEngine, "boundaries are one number"};
  if (rank > 1 &&
      (boundaries.rank() != values.rank() ||
       !std::ranges::equal(boundaries.shape().first(rank - 1), values.shape().first(rank - 1)))) {
    return Error{ErrorCode::kEngine, "boundaries and values differ in their rows"};
  }
  if (lookup.is_small &&
      boundaries.size(boundaries.rank() - 1) >= std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::kEngine, "too many boundaries for places of 32 bits"};
  }
  return {};
}

// The order of boundaries that an optional argument gives, each row's in its own numbers.
Status read_order(const std::optional<TensorArgument>& sorter, Lookup& lookup) {
  if (!sorter) return {};
  if (Status row_major = require_row_major(*sorter, "sorter"); !row_major) return row_major;
  if (sorter->dtype() != DType::kInt64 ||
      !std::ranges::equal(sorter->shape(), lookup.boundaries.shape())) {
    return Error{ErrorCode::kEngine, "sorter is not of int64 or not of the boundaries' shape"};
  }
  lookup.order = converted<std::int64_t>(*sorter);
  const std::int64_t size = lookup.boundaries.size(lookup.boundaries.rank() - 1);
  if (!std::ranges::all_of(lookup.order, [size](std::int64_t i) { return 0 <= i && i < size; })) {
    return Error{ErrorCode::kEngine, "sorter is out of range"};
  }
  return {};
}

// A row of boundaries.
template <typename Number>
struct Row {
  const ReadAs<Number>& boundaries;
  std::int64_t start;         // of the row, among all boundaries
  const std::int64_t* order;  // or null
  std::int64_t size;

  [[nodiscard]] Number at(std::int64_t i) const {
    Number converted;
    return *boundaries.at(start + (order == nullptr ? i : order[i]), 1, &converted);
  }
};

// How many boundaries are less than a value, or not greater; every one of NaN.
template <typename Number>
std::int64_t place_of(Number value, const Row<Number>& row, bool after_equals) {
  std::int64_t first = 0;
  std::int64_t last = row.size;
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    const Number boundary = row.at(middle);
    if (after_equals ? boundary > value : boundary >= value) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

template <typename Number>
void look_up(const Lookup& lookup, const TensorArgument& out) {
  const std::int64_t size = lookup.boundaries.size(lookup.boundaries.rank() - 1);
  const std::int64_t row_values = lookup.boundaries.rank() > 1
                                      ? lookup.values.size(lookup.values.rank() - 1)
                                      : lookup.values.element_count();
  const ReadAs<Number> boundaries(lookup.boundaries);
  const ReadAs<Number> values(lookup.values);
  const WriteAs<std::int64_t> places(out);
  for_each_range(out.element_count(), kStepsOfASearch, [&](std::int64_t first, std::int64_t last) {
    std::array<Number, kNumbersAtOnce> numbers;
    std::array<std::int64_t, kNumbersAtOnce> found;
    for (std::int64_t done = first; done < last; done += kNumbersAtOnce) {
      const std::int64_t count = std::min(kNumbersAtOnce, last - done);
      const Number* const some = values.at(done, count, numbers.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t start = (done + i) / row_values * size;
        const Row<Number> row{.boundaries = boundaries,
                              .start = start,
                              .order = lookup.order.empty() ? nullptr : lookup.order.data() + start,
                              .size = size};
        found[static_cast<std::size_t>(i)] = place_of(some[i], row, lookup.after_equals);
      }
      places.put(done, found.data(), count);
    }
  });
}

Status run_lookup(ProgramArguments& arguments, Lookup& lookup,
                  const std::optional<TensorArgument>& sorter) {
  if (!arguments.status()) return arguments.status();
  if (Status checked = check(lookup); !checked) return checked;
  if (Status read = read_order(sorter, lookup); !read) return read;
  const Result<TensorArgument> out = arguments.result_at(
      lookup.out, lookup.is_small ? DType::kInt32 : DType::kInt64, lookup.values.shape());
  if (!out) return out.error();
  with_number_type(lookup.values.dtype(),
                   [&]<typename Number>() { look_up<Number>(lookup, *out); });
  return {};
}

struct Searchsorted {
  static constexpr OperatorSchema kSchema{
      "aten::searchsorted.Tensor_out(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
      "bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    Lookup lookup{.boundaries = arguments.tensor(0),
                  .values = arguments.tensor(1),
                  .order = {},
                  .after_equals = arguments.boolean(3),
                  .is_small = arguments.boolean(2),
                  .out = 6};
    const std::string_view side = arguments.optional_text(4);
    if (!side.empty() && side != "left" && side != "right") {
      return Error{ErrorCode::kEngine, "side '" + std::string(side) + "'"};
    }
    if (side == "left" && lookup.after_equals) {
      return Error{ErrorCode::kEngine, "side 'left' and right"};
    }
    lookup.after_equals = lookup.after_equals || side == "right";
    return run_lookup(arguments, lookup, arguments.optional_tensor(5));
  }
};

struct Bucketize {
  static constexpr OperatorSchema kSchema{
      "aten::bucketize.Tensor_out(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
      "right=False, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    Lookup lookup{.boundaries = arguments.tensor(1),
                  .values = arguments.tensor(0),
                  .order = {},
                  .after_equals = arguments.boolean(3),
                  .is_small = arguments.boolean(2),
                  .out = 4};
    if (lookup.boundaries.rank() > 1) {
      return Error{ErrorCode::kEngine, "boundaries have several dimensions"};
    }
    return run_lookup(arguments, lookup, {});
  }
};

// Whether a value is among sorted ones. Steps without branches: none of them can be foreseen.
template <typename Number>
bool contains(std::span<const Number> sorted, Number x) {
  if (sorted.empty()) return false;
  const Number* at = sorted.data();
  for (std::size_t count = sorted.size(); count > 1;) {
    const std::size_t half = count / 2;
    at += at[half] <= x ? half : 0;
    count -= half;
  }
  return *at == x;
}

template <typename Number>
void look_for(const TensorArgument& values, const TensorArgument& among, bool inverts,
              std::span<bool> found) {
  std::vector<Number> sorted = converted<Number>(among);
  std::erase_if(sorted, [](Number x) { return is_nan(x); });  // equals nothing
  std::ranges::sort(sorted);
  const ReadAs<Number> read(values);
  for_each_range(
      values.element_count(), kStepsOfASearch, [&](std::int64_t first, std::int64_t last) {
        auto next = found.begin() + first;
        const auto look = [&](const Number* some, std::int64_t count) {
          next = std::transform(some, some + count, next,
                                [&](Number x) { return contains<Number>(sorted, x) != inverts; });
        };
        read.for_each_part(first, last - first, look);
      });
}

struct Isin {
  static constexpr OperatorSchema kSchema{
      "aten::isin.Tensor_Tensor_out(Tensor elements, Tensor test_elements, *, bool "
      "assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument looked_up = arguments.tensor(0);
    const TensorArgument among = arguments.tensor(1);
    const bool inverts = arguments.boolean(3);
    if (!arguments.status()) return arguments.status();
    if (Status row_major = require_row_major(looked_up, "elements"); !row_major) return row_major;
    if (Status row_major = require_row_major(among, "test_elements"); !row_major) return row_major;
    if (looked_up.dtype() != among.dtype()) {
      return Error{ErrorCode::kEngine, "elements and test_elements differ in their type"};
    }
    const Result<TensorArgument> out = arguments.result(DType::kBool, looked_up.shape());
    if (!out) return out.error();
    with_number_type(among.dtype(), [&]<typename Number>() {
      look_for<Number>(looked_up, among, inverts, elements<bool>(*out));
    });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> searching_operators() {
  return listed<Bucketize, Isin, Searchsorted>();
}

}  // namespace polystate
