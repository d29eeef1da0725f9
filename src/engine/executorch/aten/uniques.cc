#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/order_keys.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators whose results have sizes that depend on values.
namespace polystate {
namespace {

// Items, single elements or slices of a tensor, and which of them are equal.
struct Groups {
  std::vector<std::int64_t> representatives;  // of each group an item
  std::vector<std::int64_t> groups;           // of each item, where that is asked for
  std::vector<std::int64_t> counts;           // of each group's items
};

// The groups of `count` items of which those that are equal follow one another: `item(i)` is the
// i-th one, and `continues(i)` tells whether it equals the one before.
template <typename Item, typename Continues>
Groups groups_of(std::int64_t count, bool has_groups, const Item& item,
                 const Continues& continues) {
  Groups found;
  if (has_groups) found.groups.resize(static_cast<std::size_t>(count));
  std::int64_t group = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0 || !continues(i)) {
      found.representatives.push_back(item(i));
      found.counts.push_back(0);
      ++group;
    }
    ++found.counts.back();
    if (has_groups) found.groups[static_cast<std::size_t>(item(i))] = group;
  }
  return found;
}

// The slices of a tensor along a dimension, by the keys of its elements.
template <typename Key>
class Slices {
 public:
  Slices(const TensorArgument& tensor, const Lanes& lanes) : order_(tensor), lanes_(lanes) {
    const std::int64_t count = tensor.element_count();
    keys_.reserve(static_cast<std::size_t>(count));
    std::vector<Placed<Key>> some;
    for (std::int64_t at = 0; at < count; at += kNumbersAtOnce) {
      some.resize(static_cast<std::size_t>(std::min(kNumbersAtOnce, count - at)));
      order_.read(at, 1, some);
      for (const Placed<Key>& each : some) keys_.push_back(each.key);
    }
    for (std::int64_t i = 0; i < lanes.count(); ++i) starts_.push_back(lanes.start(i));
  }

  [[nodiscard]] bool equal(std::int64_t a, std::int64_t b) const {
    return std::ranges::all_of(
        starts_, [&](std::int64_t start) { return order_.equal(key(start, a), key(start, b)); });
  }

  // By the first elements that differ.
  [[nodiscard]] bool less(std::int64_t a, std::int64_t b) const {
    for (const std::int64_t start : starts_) {
      const Key x = key(start, a);
      const Key y = key(start, b);
      if (x != y) return x < y;
    }
    return false;
  }

 private:
  [[nodiscard]] Key key(std::int64_t start, std::int64_t slice) const {
    return keys_[static_cast<std::size_t>(start + slice * lanes_.inner)];
  }

  OrderKeys<Key> order_;
  std::vector<Key> keys_;
  Lanes lanes_;
  std::vector<std::int64_t> starts_;  // of the elements of the first slice
};

// What an operator is asked for. Its results follow one another among the arguments: the unique
// items, the groups of all items, and the counts.
struct Wanted {
  bool consecutive = false;  // equal items that do not follow one another are several groups
  bool groups = true;
  bool counts = true;
  std::size_t out = 0;
  bool has_counts = true;  // among the results
};

// One slice of each group.
void write_slices(const TensorArgument& self, const Lanes& lanes, const Groups& groups,
                  const TensorArgument& out) {
  const std::size_t bytes = static_cast<std::size_t>(lanes.inner) * size_of(self.dtype());
  std::byte* to = out.bytes();
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (const std::int64_t slice : groups.representatives) {
      const auto place = static_cast<std::size_t>(outer * lanes.size + slice);
      to = std::copy_n(self.bytes() + place * bytes, bytes, to);
    }
  }
}

// What elements or slices are compared in, and the shapes of the results.
struct Compared {
  TensorArgument self;
  Lanes lanes;
  std::vector<std::int64_t> unique;
  std::vector<std::int64_t> groups;
};

Status write(ProgramArguments& arguments, const Groups& found, const Wanted& wanted,
             const Compared& compared) {
  const std::vector<std::int64_t> none{0};
  const std::vector<std::int64_t> one_each{static_cast<std::int64_t>(found.counts.size())};
  const auto unique = arguments.result_at(wanted.out, compared.self.dtype(), compared.unique);
  if (!unique) return unique.error();
  const auto groups =
      arguments.result_at(wanted.out + 1, DType::kInt64, wanted.groups ? compared.groups : none);
  if (!groups) return groups.error();
  if (wanted.has_counts) {
    const auto counts =
        arguments.result_at(wanted.out + 2, DType::kInt64, wanted.counts ? one_each : none);
    if (!counts) return counts.error();
    if (wanted.counts) std::ranges::copy(found.counts, elements<std::int64_t>(*counts).begin());
  }
  if (wanted.groups) std::ranges::copy(found.groups, elements<std::int64_t>(*groups).begin());
  write_slices(compared.self, compared.lanes, found, *unique);
  return {};
}

// Of slices of one element each.
template <typename Key>
Groups groups_of_elements(const TensorArgument& self, const Wanted& wanted) {
  const OrderKeys<Key> keys(self);
  std::vector<Placed<Key>> placed(static_cast<std::size_t>(self.element_count()));
  keys.read(0, 1, placed);
  if (!wanted.consecutive) {
    std::vector<Placed<Key>> scratch;
    sort_by_key(placed, scratch);
  }
  const auto at = [&](std::int64_t i) { return placed[static_cast<std::size_t>(i)]; };
  return groups_of(
      self.element_count(), wanted.groups,
      [&](std::int64_t i) { return static_cast<std::int64_t>(at(i).place); },
      [&](std::int64_t i) { return keys.equal(at(i - 1).key, at(i).key); });
}

template <typename Key>
Groups groups_of_slices(const TensorArgument& self, const Lanes& lanes, const Wanted& wanted) {
  const Slices<Key> slices(self, lanes);
  std::vector<std::int64_t> order(static_cast<std::size_t>(lanes.size));
  std::iota(order.begin(), order.end(), 0);
  if (!wanted.consecutive) {
    std::ranges::stable_sort(order, [&](auto a, auto b) { return slices.less(a, b); });
  }
  const auto at = [&](std::int64_t i) { return order[static_cast<std::size_t>(i)]; };
  return groups_of(lanes.size, wanted.groups, at,
                   [&](std::int64_t i) { return slices.equal(at(i - 1), at(i)); });
}

Groups groups_along(const TensorArgument& self, const Lanes& lanes, const Wanted& wanted) {
  return with_key_type(self.dtype(), self.element_count(), [&]<typename Key>() {
    return lanes.count() == 1 ? groups_of_elements<Key>(self, wanted)
                              : groups_of_slices<Key>(self, lanes, wanted);
  });
}

Status unique_elements(ProgramArguments& arguments, const Wanted& wanted) {
  const TensorArgument self = arguments.tensor(0);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Lanes lanes{.outer = 1, .size = self.element_count(), .inner = 1};
  const Groups groups = groups_along(self, lanes, wanted);
  const Compared compared{.self = self,
                          .lanes = lanes,
                          .unique = {static_cast<std::int64_t>(groups.counts.size())},
                          .groups = {self.shape().begin(), self.shape().end()}};
  return write(arguments, groups, wanted, compared);
}

Status unique_slices(ProgramArguments& arguments, std::int64_t dimension, const Wanted& wanted) {
  const TensorArgument self = arguments.tensor(0);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  if (lanes->count() == 0) return Error{ErrorCode::kEngine, "slices have no elements"};
  const Groups groups = groups_along(self, *lanes, wanted);
  Compared compared{.self = self,
                    .lanes = *lanes,
                    .unique = reduced_shape(self, dimension, /*keeps_dimension=*/true),
                    .groups = {lanes->size}};
  if (compared.unique.empty()) compared.unique.push_back(1);
  compared.unique[*resolve_dimension(self.shape(), dimension)] =
      static_cast<std::int64_t>(groups.counts.size());
  return write(arguments, groups, wanted, compared);
}

struct Unique {
  static constexpr OperatorSchema kSchema{
      "aten::_unique.out(Tensor self, bool sorted=True, bool return_inverse=False, *, Tensor(a!) "
      "out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"};
  static Status run(ProgramArguments& arguments) {
    return unique_elements(arguments,
                           {.groups = arguments.boolean(2), .out = 3, .has_counts = false});
  }
};

struct Unique2 {
  static constexpr OperatorSchema kSchema{
      "aten::_unique2.out(Tensor self, bool sorted=True, bool return_inverse=False, bool "
      "return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
      "Tensor(b!), Tensor(c!))"};
  static Status run(ProgramArguments& arguments) {
    return unique_elements(
        arguments, {.groups = arguments.boolean(2), .counts = arguments.boolean(3), .out = 4});
  }
};

// As in PyTorch, groups and counts are given whether or not they are asked for.
struct UniqueDim {
  static constexpr OperatorSchema kSchema{
      "aten::unique_dim.out(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
      "bool return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> "
      "(Tensor(a!), Tensor(b!), Tensor(c!))"};
  static Status run(ProgramArguments& arguments) {
    return unique_slices(arguments, arguments.integer(1), {.out = 5});
  }
};

struct UniqueConsecutive {
  static constexpr OperatorSchema kSchema{
      "aten::unique_consecutive.out(Tensor self, bool return_inverse=False, bool "
      "return_counts=False, int? dim=None, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) "
      "-> "
      "(Tensor(a!), Tensor(b!), Tensor(c!))"};
  static Status run(ProgramArguments& arguments) {
    const std::optional<std::int64_t> dimension = arguments.optional_integer(3);
    const int rank = arguments.tensor(0).rank();
    if (dimension && !(*dimension == 0 && rank == 1)) {
      return unique_slices(arguments, *dimension, {.consecutive = true, .out = 4});
    }
    return unique_elements(arguments, {.consecutive = true,
                                       .groups = arguments.boolean(1),
                                       .counts = arguments.boolean(2),
                                       .out = 4});
  }
};

struct UniqueDimConsecutive {
  static constexpr OperatorSchema kSchema{
      "aten::unique_dim_consecutive.out(Tensor self, int dim, bool return_inverse=False, bool "
      "return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
      "Tensor(b!), Tensor(c!))"};
  static Status run(ProgramArguments& arguments) {
    return unique_slices(arguments, arguments.integer(1), {.consecutive = true, .out = 4});
  }
};

// The places of elements that are not zero, cut off or filled up to a number of them.
struct NonzeroStatic {
  static constexpr OperatorSchema kSchema{
      "aten::nonzero_static.out(Tensor self, *, SymInt size, int fill_value=-1, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::int64_t size = arguments.integer(1);
    const std::int64_t fill = arguments.integer(2);
    if (!arguments.status()) return arguments.status();
    if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
    if (size < 0) return Error{ErrorCode::kEngine, "size " + std::to_string(size)};
    const std::vector<std::int64_t> shape{size, self.rank()};
    const Result<TensorArgument> out = arguments.result(DType::kInt64, shape);
    if (!out) return out.error();
    const std::span<std::int64_t> places = elements<std::int64_t>(*out);
    auto next = places.begin();
    with_element_type(self.dtype(), [&]<typename T>() {
      const std::span<const T> from = elements<const T>(self);
      for (std::size_t i = 0; i < from.size() && next != places.end(); ++i) {
        if (static_cast<Computed<T>>(from[i]) == Computed<T>(0)) continue;
        write_place(self, static_cast<std::int64_t>(i), &*next);
        next += self.rank();
      }
    });
    std::fill(next, places.end(), fill);
    return {};
  }

 private:
  // The coordinates of an element.
  static void write_place(const TensorArgument& self, std::int64_t element, std::int64_t* place) {
    for (int i = self.rank() - 1; i >= 0; --i) {
      assert(self.size(i) > 0);
      place[i] = element % self.size(i);
      element /= self.size(i);
    }
  }
};

}  // namespace

std::span<const ListedOperator> unique_operators() {
  return listed<NonzeroStatic, Unique, Unique2, UniqueConsecutive, UniqueDim,
                UniqueDimConsecutive>();
}

}  // namespace polystate
