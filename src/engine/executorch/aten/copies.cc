#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that copy elements in another order, or several times: along each dimension of their
// result the elements lie at an even distance, which may be negative or zero.
namespace polystate {
namespace {

// Along a dimension of the result: how many elements, and how far apart they lie in self.
struct Even {
  std::int64_t size;
  std::int64_t stride;
};

// Copies to a row-major result from the element at `first` on.
void copy_even(const TensorArgument& self, std::int64_t first, std::span<const Even> dimensions,
               const TensorArgument& out) {
  if (out.element_count() == 0) return;
  const auto bytes = static_cast<std::int64_t>(size_of(self.dtype()));
  std::vector<CopyDimension> copy(dimensions.size());
  std::int64_t stride = bytes;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    copy[i] = {dimensions[i].size, stride, dimensions[i].stride * bytes};
    stride *= dimensions[i].size;
  }
  const std::byte* const from = self.bytes() + first * bytes;
  copy = merged(copy);
  if (copy.empty()) {
    std::memcpy(out.bytes(), from, static_cast<std::size_t>(bytes));
    return;
  }
  const CopyDimension outer = copy.front();
  for_each_range(outer.size, outer.to_stride / bytes, [&](std::int64_t begin, std::int64_t end) {
    std::vector<CopyDimension> part = copy;
    part.front().size = end - begin;
    copy_elements(part, static_cast<std::size_t>(bytes), out.bytes() + begin * outer.to_stride,
                  from + begin * outer.from_stride);
  });
}

// The dimensions of a row-major tensor, as they lie.
std::vector<Even> even_dimensions(const TensorArgument& self) {
  const Strides strides = row_major_strides(self.shape());
  std::vector<Even> dimensions;
  dimensions.reserve(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) {
    dimensions.push_back({self.shape()[i], strides[i]});
  }
  return dimensions;
}

struct Flip {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::vector<std::int64_t> flipped = arguments.integers(1);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    std::vector<Even> dimensions = even_dimensions(self);
    std::int64_t first = 0;
    for (const std::int64_t dimension : flipped) {
      const Result<std::size_t> place = resolve_dimension(self.shape(), dimension);
      if (!place) return place.error();
      if (self.rank() == 0) continue;
      Even& along = dimensions[*place];
      if (along.stride < 0) {
        return refused("dimension " + std::to_string(dimension) + " is there twice");
      }
      first += (along.size - 1) * along.stride;
      along.stride = -along.stride;
    }
    const Result<TensorArgument> out = result_beside(arguments, 2, self, self.shape());
    if (!out) return out.error();
    copy_even(self, first, dimensions, *out);
    return {};
  }
};

struct ExpandCopy {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, "
      "Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    std::vector<std::int64_t> shape = arguments.integers(1);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    const std::vector<Even> own = even_dimensions(self);
    if (shape.size() < own.size()) return refused("size has fewer dimensions than self");
    const std::size_t leading = shape.size() - own.size();
    std::vector<Even> dimensions;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool is_new = i < leading;
      const Even along = is_new ? Even{1, 0} : own[i - leading];
      if (shape[i] == -1 && !is_new) shape[i] = along.size;
      if (shape[i] < 0 || (along.size != 1 && along.size != shape[i])) {
        return refused("dimension " + std::to_string(i) + " of " + std::to_string(along.size) +
                       " elements cannot have " + std::to_string(shape[i]));
      }
      dimensions.push_back({shape[i], along.size == 1 ? 0 : along.stride});
    }
    const Result<TensorArgument> out = result_beside(arguments, 3, self, shape);
    if (!out) return out.error();
    copy_even(self, 0, dimensions, *out);
    return {};
  }
};

struct PermuteCopy {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> "
      "Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::vector<std::int64_t> order = arguments.integers(1);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    const std::vector<Even> own = even_dimensions(self);
    if (order.size() != own.size()) {
      return refused("dims has " + std::to_string(order.size()) + " dimensions of " +
                     std::to_string(own.size()));
    }
    std::vector<bool> is_taken(own.size());
    std::vector<std::int64_t> shape;
    std::vector<Even> dimensions;
    for (const std::int64_t dimension : order) {
      const Result<std::size_t> place = resolve_dimension(self.shape(), dimension);
      if (!place) return place.error();
      if (is_taken[*place]) {
        return refused("dimension " + std::to_string(dimension) + " is there twice");
      }
      is_taken[*place] = true;
      dimensions.push_back(own[*place]);
      shape.push_back(own[*place].size);
    }
    const Result<TensorArgument> out = result_beside(arguments, 2, self, shape);
    if (!out) return out.error();
    copy_even(self, 0, dimensions, *out);
    return {};
  }
};

struct Repeat {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> "
      "Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::vector<std::int64_t> repeats = arguments.integers(1);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    const std::vector<Even> own = even_dimensions(self);
    if (repeats.size() < own.size()) return refused("repeats has fewer dimensions than self");
    const std::size_t leading = repeats.size() - own.size();
    std::vector<std::int64_t> shape;
    std::vector<Even> dimensions;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      const Even along = i < leading ? Even{1, 0} : own[i - leading];
      if (repeats[i] < 0 || repeats[i] > std::numeric_limits<std::int32_t>::max()) {
        return refused("repeats has " + std::to_string(repeats[i]));
      }
      shape.push_back(repeats[i] * along.size);
      dimensions.push_back({repeats[i], 0});
      dimensions.push_back(along);
    }
    const Result<TensorArgument> out = result_beside(arguments, 2, self, shape);
    if (!out) return out.error();
    copy_even(self, 0, dimensions, *out);
    return {};
  }
};

struct AsStridedCopy {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
      "storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::vector<std::int64_t> sizes = arguments.integers(1);
    const std::vector<std::int64_t> strides = arguments.integers(2);
    const std::int64_t first = arguments.optional_integer(3).value_or(0);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    if (sizes.size() != strides.size()) return refused("size and stride differ in their length");
    std::vector<Even> dimensions;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0 || strides[i] < 0) return refused("a size or a stride is negative");
      dimensions.push_back({sizes[i], strides[i]});
    }
    const bool is_empty = std::ranges::find(sizes, 0) != sizes.end();
    if (!is_empty && !is_within(dimensions, first, self.element_count())) {
      return refused("there are elements outside of self");
    }
    const Result<TensorArgument> out = result_beside(arguments, 4, self, sizes);
    if (!out) return out.error();
    copy_even(self, first, dimensions, *out);
    return {};
  }

 private:
  // Whether all elements are some of `count`.
  static bool is_within(std::span<const Even> dimensions, std::int64_t first, std::int64_t count) {
    if (first < 0 || first >= count) return false;
    std::int64_t behind = count - 1 - first;  // the last one so far
    for (const Even& along : dimensions) {
      if (along.size == 1 || along.stride == 0) continue;
      if (along.size - 1 > behind / along.stride) return false;
      behind -= (along.size - 1) * along.stride;
    }
    return true;
  }
};

struct Roll {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) "
      "out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::vector<std::int64_t> shifts = arguments.integers(1);
    const std::vector<std::int64_t> along = arguments.integers(2);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    if (shifts.size() != std::max<std::size_t>(along.size(), 1)) {
      return refused("there are " + std::to_string(shifts.size()) + " shifts along " +
                     std::to_string(along.size()) + " dimensions");
    }
    // Without dimensions, the elements are rolled as if they were a list.
    const std::vector<std::int64_t> list = {self.element_count()};
    const std::span<const std::int64_t> shape = along.empty() ? list : self.shape();
    std::vector<std::int64_t> moved(shape.size(), 0);
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const Result<std::size_t> place = resolve_dimension(shape, along.empty() ? 0 : along[i]);
      if (!place) return place.error();
      if (shape.empty() || shape[*place] == 0) continue;
      const std::int64_t size = shape[*place];
      moved[*place] = (moved[*place] + shifts[i] % size + size) % size;
    }
    const Result<TensorArgument> out = result_beside(arguments, 3, self, self.shape());
    if (!out) return out.error();
    if (out->element_count() == 0) return {};
    const auto bytes = static_cast<std::int64_t>(size_of(self.dtype()));
    const Rolled rolled{.shape = shape, .shifts = moved, .bytes = bytes};
    std::vector<CopyDimension> copy;
    rolled.copy_parts(copy, bytes * self.element_count(), out->bytes(), self.bytes());
    return {};
  }

 private:
  // A tensor that goes, along each dimension, in two parts, of which the last comes first.
  struct Rolled {
    std::span<const std::int64_t> shape;
    std::span<const std::int64_t> shifts;
    std::int64_t bytes;  // of an element

    // Copies the parts of the dimensions from the one that follows those of `copy` on, in each
    // place of which lie `whole` bytes.
    void copy_parts(std::vector<CopyDimension>& copy, std::int64_t whole, std::byte* to,
                    const std::byte* from) const {
      const std::size_t i = copy.size();
      if (i == shape.size()) {
        copy_elements(copy, static_cast<std::size_t>(bytes), to, from);
        return;
      }
      const std::int64_t stride = whole / shape[i];
      const std::int64_t shift = shifts[i];
      const std::int64_t stays = shape[i] - shift;
      copy.push_back({stays, stride, stride});
      copy_parts(copy, stride, to + shift * stride, from);
      copy.pop_back();
      if (shift == 0) return;
      copy.push_back({shift, stride, stride});
      copy_parts(copy, stride, to, from + stays * stride);
      copy.pop_back();
    }
  };
};

}  // namespace

std::span<const ListedOperator> copy_operators() {
  return listed<AsStridedCopy, ExpandCopy, Flip, PermuteCopy, Repeat, Roll>();
}

}  // namespace polystate
