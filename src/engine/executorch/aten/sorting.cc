#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/order_keys.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that order the elements along a dimension, and those that find one by its rank.
namespace polystate {
namespace {

// What an operator goes over, and its two results.
struct LaneOperands {
  TensorArgument self;
  Lanes lanes;
  TensorArgument values;
  TensorArgument indices;
};

// Where the operands are among the arguments.
struct Positions {
  std::size_t dimension;
  std::size_t values;  // `indices` follow
};

// Results of `self`'s shape, or of that with `size` elements along the dimension.
Result<LaneOperands> operands_of_lines(ProgramArguments& arguments, Positions positions,
                                       std::optional<std::int64_t> size = {}) {
  LaneOperands operands;
  operands.self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(positions.dimension);
  if (!arguments.status()) return arguments.status().error();
  if (const Status row_major = require_row_major(operands.self, "self"); !row_major) {
    return row_major.error();
  }
  const Result<Lanes> lanes = lanes_along(operands.self, dimension);
  if (!lanes) return lanes.error();
  operands.lanes = *lanes;
  std::vector<std::int64_t> shape(operands.self.shape().begin(), operands.self.shape().end());
  if (size && !shape.empty()) shape[*resolve_dimension(operands.self.shape(), dimension)] = *size;
  const auto values = arguments.result_at(positions.values, operands.self.dtype(), shape);
  if (!values) return values.error();
  const auto indices = arguments.result_at(positions.values + 1, DType::kInt64, shape);
  if (!indices) return indices.error();
  if (overlap(operands.self, *values) || overlap(operands.self, *indices)) {
    return refused("a result lies where self does");
  }
  operands.values = *values;
  operands.indices = *indices;
  return operands;
}

// Results of one element for each lane, which has `rank` elements at least; a bool `keepdim`
// follows the dimension.
Result<LaneOperands> operands_of_lanes(ProgramArguments& arguments, Positions positions,
                                       std::int64_t rank) {
  LaneOperands operands;
  operands.self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(positions.dimension);
  const bool keeps_dimension = arguments.boolean(positions.dimension + 1);
  if (!arguments.status()) return arguments.status().error();
  if (const Status row_major = require_row_major(operands.self, "self"); !row_major) {
    return row_major.error();
  }
  const Result<Lanes> lanes = lanes_along(operands.self, dimension);
  if (!lanes) return lanes.error();
  operands.lanes = *lanes;
  if (rank < 1 || rank > lanes->size) {
    return Error{ErrorCode::kEngine,
                 "element " + std::to_string(rank) + " by rank of " + std::to_string(lanes->size)};
  }
  const std::vector<std::int64_t> shape = reduced_shape(operands.self, dimension, keeps_dimension);
  const auto values = arguments.result_at(positions.values, operands.self.dtype(), shape);
  if (!values) return values.error();
  const auto indices = arguments.result_at(positions.values + 1, DType::kInt64, shape);
  if (!indices) return indices.error();
  operands.values = *values;
  operands.indices = *indices;
  return operands;
}

void copy_element(const TensorArgument& from, std::int64_t place, const TensorArgument& to,
                  std::int64_t to_place) {
  const std::size_t size = size_of(from.dtype());
  std::memcpy(to.bytes() + static_cast<std::size_t>(to_place) * size,
              from.bytes() + static_cast<std::size_t>(place) * size, size);
}

// Copies the elements of a lane that begins at `start`, in the order that its keys are in now.
template <typename Key>
void write_lane(const LaneOperands& operands, std::int64_t start,
                const std::vector<Placed<Key>>& lane) {
  const std::int64_t step = operands.lanes.inner;
  auto* index = elements<std::int64_t>(operands.indices).data() + start;
  for (const Placed<Key>& each : lane) {
    *index = static_cast<std::int64_t>(each.place);
    index += step;
  }
  with_element_size(operands.self.dtype(), [&]<std::size_t kBytes>() {
    using Element = std::array<std::byte, kBytes>;
    const Element* const from = elements<const Element>(operands.self).data() + start;
    Element* to = elements<Element>(operands.values).data() + start;
    for (const Placed<Key>& each : lane) {
      *to = from[static_cast<std::int64_t>(each.place) * step];
      to += step;
    }
  });
}

// Gives keys the opposite order.
template <typename Key>
void turn_round(std::vector<Placed<Key>>& lane) {
  for (Placed<Key>& each : lane) each.key = ~each.key;
}

template <typename Key>
void sort_lanes(const LaneOperands& operands, bool descending) {
  const OrderKeys<Key> keys(operands.self);
  const Lanes& lanes = operands.lanes;
  for_each_range(lanes.count(), lanes.size, [&](std::int64_t first, std::int64_t last) {
    std::vector<Placed<Key>> lane(static_cast<std::size_t>(lanes.size));
    std::vector<Placed<Key>> scratch;
    for (std::int64_t each = first; each < last; ++each) {
      keys.read(lanes.start(each), lanes.inner, lane);
      if (descending) turn_round(lane);
      sort_by_key(lane, scratch);
      write_lane(operands, lanes.start(each), lane);
    }
  });
}

// Equal elements stay in their order whether or not that is asked for.
Status sort(ProgramArguments& arguments, Positions positions) {
  const bool descending = arguments.boolean(positions.dimension + 1);
  const Result<LaneOperands> operands = operands_of_lines(arguments, positions);
  if (!operands) return operands.error();
  with_key_type(operands->self.dtype(), operands->lanes.size,
                [&]<typename Key>() { sort_lanes<Key>(*operands, descending); });
  return {};
}

struct Sort {
  static constexpr OperatorSchema kSchema{
      "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, "
      "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    return sort(arguments, {.dimension = 1, .values = 3});
  }
};

struct SortStable {
  static constexpr OperatorSchema kSchema{
      "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, "
      "Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    return sort(arguments, {.dimension = 2, .values = 4});
  }
};

// Calls `work(lane, number)` with what `keys` has of each lane, which it may reorder.
template <typename Key, typename Work>
void for_each_keyed_lane(const OrderKeys<Key>& keys, const Lanes& lanes, const Work& work) {
  for_each_range(lanes.count(), lanes.size, [&](std::int64_t first, std::int64_t last) {
    std::vector<Placed<Key>> lane(static_cast<std::size_t>(lanes.size));
    for (std::int64_t number = first; number < last; ++number) {
      keys.read(lanes.start(number), lanes.inner, lane);
      work(lane, number);
    }
  });
}

// Calls `find(keys, lane)` for the keys of each lane, which it may reorder: it returns the one that
// is the result's.
template <typename Find>
void find_in_lanes(const LaneOperands& operands, const Find& find) {
  const Lanes& lanes = operands.lanes;
  auto* const indices = elements<std::int64_t>(operands.indices).data();
  with_key_type(operands.self.dtype(), lanes.size, [&]<typename Key>() {
    const OrderKeys<Key> keys(operands.self);
    for_each_keyed_lane(keys, lanes, [&](std::vector<Placed<Key>>& lane, std::int64_t number) {
      const auto place = static_cast<std::int64_t>(find(keys, lane).place);
      indices[number] = place;
      copy_element(operands.self, lanes.start(number) + place * lanes.inner, operands.values,
                   number);
    });
  });
}

// The element that `rank` others precede. The pivots are those that PyTorch takes, so that of equal
// elements it is the same one.
template <typename Key>
Placed<Key> element_of_rank(std::vector<Placed<Key>>& lane, std::int64_t rank) {
  const auto at = [&](std::int64_t place) -> Placed<Key>& {
    return lane[static_cast<std::size_t>(place)];
  };
  const auto is_after = [](const Placed<Key>& a, const Placed<Key>& b) { return b.key < a.key; };
  const auto put_in_order = [&](std::int64_t a, std::int64_t b) {
    if (is_after(at(a), at(b))) std::swap(at(a), at(b));
  };
  std::int64_t first = 0;
  auto last = static_cast<std::int64_t>(lane.size()) - 1;
  while (last > first + 1) {
    std::swap(at(first + (last - first) / 2), at(first + 1));
    put_in_order(first + 1, last);
    put_in_order(first, last);
    put_in_order(first + 1, first);
    const Placed<Key> pivot = at(first);
    std::int64_t up = first + 1;
    std::int64_t down = last;
    while (true) {
      do ++up;
      while (is_after(pivot, at(up)));
      do --down;
      while (is_after(at(down), pivot));
      if (down < up) break;
      std::swap(at(up), at(down));
    }
    std::swap(at(first), at(down));
    if (down <= rank) first = up;
    if (down >= rank) last = down - 1;
  }
  if (last == first + 1) put_in_order(first, last);
  return at(rank);
}

struct Kthvalue {
  static constexpr OperatorSchema kSchema{
      "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) "
      "values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    const std::int64_t k = arguments.integer(1);
    const Result<LaneOperands> operands =
        operands_of_lanes(arguments, {.dimension = 2, .values = 4}, k);
    if (!operands) return operands.error();
    find_in_lanes(*operands, [k](const auto&, auto& lane) { return element_of_rank(lane, k - 1); });
    return {};
  }
};

// How a median is found.
struct MedianRule {
  bool leaves_nan_out;
  bool by_place;  // equal elements stay in their order
};

// The lower one of two in the middle. A NaN is the median, or is left out. NaNs have no order, so
// that of nothing but NaN nth_element chooses, as in PyTorch.
template <typename Key>
Placed<Key> median_of(const OrderKeys<Key>& keys, std::vector<Placed<Key>>& lane,
                      const MedianRule& rule) {
  const auto is_nan = [&](const Placed<Key>& each) { return keys.is_nan(each.key); };
  auto numbers = static_cast<std::int64_t>(lane.size());
  if (rule.leaves_nan_out) {
    numbers -= std::ranges::count_if(lane, is_nan);
  } else if (const auto nan = std::ranges::find_if(lane, is_nan); nan != lane.end()) {
    return *nan;
  }
  const auto middle = lane.begin() + std::max<std::int64_t>(numbers - 1, 0) / 2;
  std::ranges::nth_element(lane, middle, [&](const Placed<Key>& a, const Placed<Key>& b) {
    if (a.key != b.key) return a.key < b.key;
    return rule.by_place && !keys.is_nan(a.key) && a.place < b.place;
  });
  return *middle;
}

Status median_along(ProgramArguments& arguments, bool leaves_nan_out) {
  const Result<LaneOperands> operands =
      operands_of_lanes(arguments, {.dimension = 1, .values = 3}, 1);
  if (!operands) return operands.error();
  find_in_lanes(*operands, [leaves_nan_out](const auto& keys, auto& lane) {
    return median_of(keys, lane, {.leaves_nan_out = leaves_nan_out, .by_place = true});
  });
  return {};
}

// NaN, as PyTorch's conversion has it on this kind of processor.
template <typename T>
T median_of_nothing() {
  if constexpr (kIsFloat<T>) {
    return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (sizeof(T) >= sizeof(std::int32_t)) {
    return std::numeric_limits<T>::min();
  } else {
    return 0;
  }
}

Status median_of_all(ProgramArguments& arguments, bool leaves_nan_out) {
  const TensorArgument self = arguments.tensor(0);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<TensorArgument> out = arguments.result(self.dtype(), {});
  if (!out) return out.error();
  const std::int64_t count = self.element_count();
  if (count == 0) {
    with_element_type(self.dtype(),
                      [&]<typename T>() { elements<T>(*out)[0] = median_of_nothing<T>(); });
    return {};
  }
  with_key_type(self.dtype(), count, [&]<typename Key>() {
    const OrderKeys<Key> keys(self);
    std::vector<Placed<Key>> all(static_cast<std::size_t>(count));
    keys.read(0, 1, all);
    // Of zeros of both signs PyTorch returns the one that nth_element finds by their values.
    const Placed<Key> median =
        median_of(keys, all, {.leaves_nan_out = leaves_nan_out, .by_place = false});
    copy_element(self, static_cast<std::int64_t>(median.place), *out, 0);
  });
  return {};
}

struct Median {
  static constexpr OperatorSchema kSchema{
      "aten::median.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return median_of_all(arguments, false); }
};

struct MedianDim {
  static constexpr OperatorSchema kSchema{
      "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, "
      "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) { return median_along(arguments, false); }
};

struct Nanmedian {
  static constexpr OperatorSchema kSchema{
      "aten::nanmedian.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return median_of_all(arguments, true); }
};

struct NanmedianDim {
  static constexpr OperatorSchema kSchema{
      "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, "
      "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) { return median_along(arguments, true); }
};

// The smallest one of those that are most frequent; each NaN differs from all others, and is the
// largest. PyTorch sorts by an order that NaN breaks: what it gives of a lane with one depends on
// where that is.
template <typename Key>
Placed<Key> mode_of(const OrderKeys<Key>& keys, std::vector<Placed<Key>>& lane) {
  std::ranges::sort(lane, {}, &Placed<Key>::key);
  Placed<Key> found = lane.front();
  std::size_t most = 0;
  for (std::size_t first = 0; first < lane.size();) {
    std::size_t last = first;
    while (last + 1 < lane.size() && keys.equal(lane[last + 1].key, lane[first].key)) ++last;
    if (last - first + 1 > most) {
      most = last - first + 1;
      found = lane[last];
    }
    first = last + 1;
  }
  return found;
}

struct Mode {
  static constexpr OperatorSchema kSchema{
      "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, "
      "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) {
    const Result<LaneOperands> operands =
        operands_of_lanes(arguments, {.dimension = 1, .values = 3}, 1);
    if (!operands) return operands.error();
    find_in_lanes(*operands, [](const auto& keys, auto& lane) { return mode_of(keys, lane); });
    return {};
  }
};

// Whether an element comes before another one among the largest; of equal ones the first does.
template <typename Key>
bool is_before(const Placed<Key>& a, const Placed<Key>& b) {
  return a.key > b.key || (a.key == b.key && a.place < b.place);
}

// Moves the `k` largest elements to the front of a lane, in their order.
template <typename Key>
void put_largest_first(std::vector<Placed<Key>>& lane, std::int64_t k) {
  constexpr std::int64_t kFew = 8;  // of so many times as many, most are passed over
  const auto end = lane.begin() + k;
  if (k * kFew > static_cast<std::int64_t>(lane.size())) {
    std::ranges::nth_element(lane, end, &is_before<Key>);
  } else if (k > 0) {
    std::ranges::make_heap(lane.begin(), end, &is_before<Key>);  // the last of them in front
    for (auto each = end; each != lane.end(); ++each) {
      if (each->key <= lane.front().key) continue;
      std::ranges::pop_heap(lane.begin(), end, &is_before<Key>);
      std::swap(*(end - 1), *each);
      std::ranges::push_heap(lane.begin(), end, &is_before<Key>);
    }
  }
  std::ranges::sort(lane.begin(), end, &is_before<Key>);
}

template <typename Key>
void find_top(const LaneOperands& operands, std::int64_t k, bool largest) {
  const Lanes& lanes = operands.lanes;
  auto* const indices = elements<std::int64_t>(operands.indices).data();
  const OrderKeys<Key> keys(operands.self);
  for_each_keyed_lane(keys, lanes, [&](std::vector<Placed<Key>>& lane, std::int64_t number) {
    if (!largest) turn_round(lane);
    put_largest_first(lane, k);
    const std::int64_t start = lanes.start(number);
    std::int64_t to = number / lanes.inner * k * lanes.inner + number % lanes.inner;
    for (const Placed<Key>& each : std::span(lane).first(static_cast<std::size_t>(k))) {
      indices[to] = static_cast<std::int64_t>(each.place);
      copy_element(operands.self, start + indices[to] * lanes.inner, operands.values, to);
      to += lanes.inner;
    }
  });
}

struct TopK {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool "
      "sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) "
      "indices)"};
  // They are in order, whether or not that is asked for.
  static Status run(ProgramArguments& arguments) {
    const std::int64_t given = arguments.integer(1);
    const bool largest = arguments.boolean(3);
    const Result<LaneOperands> operands = operands_of_lines(
        arguments, {.dimension = 2, .values = 5}, std::max<std::int64_t>(given, 0));
    if (!operands) return operands.error();
    const std::int64_t size = operands->lanes.size;
    if (given < 0 || given > size) {
      return refused("k is " + std::to_string(given) + ", of " + std::to_string(size) +
                     " elements");
    }
    if (operands->values.element_count() == 0) return {};
    const std::int64_t k = operands->self.rank() == 0 ? 1 : given;
    with_key_type(operands->self.dtype(), size,
                  [&]<typename Key>() { find_top<Key>(*operands, k, largest); });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> sorting_operators() {
  return listed<Kthvalue, Median, MedianDim, Mode, Nanmedian, NanmedianDim, Sort, SortStable,
                TopK>();
}

}  // namespace polystate
