#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/offsets.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "engine/executorch/operators/selection.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that take elements from the places that an index gives, or put them there.
namespace polystate {
namespace {

// The numbers of an index, in a copy where they are of int32. One without elements has any type.
class Places {
 public:
  static Result<Places> create(const TensorArgument& index) {
    if (const Status is = require_row_major(index, "index"); !is) return is.error();
    Places places;
    if (index.dtype() == DType::kInt64) {
      places.given_ = elements<const std::int64_t>(index);
    } else if (index.dtype() == DType::kInt32) {
      places.wide_ = converted<std::int64_t>(index);
    } else if (index.element_count() > 0) {
      return refused("the index has no integers");
    }
    return places;
  }

  [[nodiscard]] std::span<const std::int64_t> all() const {
    return wide_.empty() ? given_ : std::span<const std::int64_t>(wide_);
  }

 private:
  std::span<const std::int64_t> given_;
  std::vector<std::int64_t> wide_;
};

// Copies a line of the elements at places.
template <std::size_t kBytes>
void copy_places(std::byte* to, const std::byte* from, std::span<const std::int64_t> places) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  constexpr Block<kBytes> kCopy{};
  const auto count = static_cast<std::int64_t>(places.size());
  const std::int64_t* const place = places.data();
  for (std::int64_t i = 0; i < count; ++i) kCopy(to + i * kStep, from + place[i] * kStep);
}

struct IndexSelect {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) "
      "-> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::int64_t dimension = arguments.integer(1);
    const TensorArgument index = arguments.tensor(2);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    const Result<Lanes> lanes = lanes_along(self, dimension);
    if (!lanes) return lanes.error();
    const Result<Places> places = Places::create(index);
    if (!places) return places.error();
    const std::span<const std::int64_t> rows = places->all();
    if (index.rank() > 1 || (self.rank() == 0 && rows.size() != 1)) {
      return refused("the index is no list, or self has one element");
    }
    if (Status are = require_places(rows, lanes->size); !are) return are;
    std::vector<std::int64_t> shape(self.shape().begin(), self.shape().end());
    if (!shape.empty()) {
      shape[*resolve_dimension(self.shape(), dimension)] = static_cast<std::int64_t>(rows.size());
    }
    const Result<TensorArgument> out = result_beside(arguments, 3, self, shape);
    if (!out) return out.error();
    if (overlap(index, *out)) return refused("out lies where the index does");
    if (out->element_count() > 0) copy_rows(self, *lanes, rows, *out);
    return {};
  }

 private:
  static void copy_rows(const TensorArgument& self, const Lanes& lanes,
                        std::span<const std::int64_t> rows, const TensorArgument& out) {
    const auto count = static_cast<std::int64_t>(rows.size());
    if (lanes.inner == 1) {
      with_element_size(self.dtype(), [&]<std::size_t kBytes>() {
        constexpr auto kStep = static_cast<std::int64_t>(kBytes);
        for_each_range(lanes.outer, count, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t outer = first; outer < last; ++outer) {
            copy_places<kBytes>(out.bytes() + outer * count * kStep,
                                self.bytes() + outer * lanes.size * kStep, rows);
          }
        });
      });
      return;
    }
    const auto bytes = lanes.inner * static_cast<std::int64_t>(size_of(self.dtype()));
    for_each_range(lanes.outer * count, lanes.inner, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t place = rows[static_cast<std::size_t>(row % count)];
        std::memcpy(out.bytes() + row * bytes,
                    self.bytes() + (row / count * lanes.size + place) * bytes,
                    static_cast<std::size_t>(bytes));
      }
    });
  }
};

// Elements of a row-major tensor at places along one dimension, for each element of an index.
struct Gathering {
  TensorArgument self;
  std::span<const std::int64_t> index;
  Offsets rows;                 // in self, of the lines of the index, at place 0
  std::int64_t end = 1;         // of the places
  std::int64_t width = 1;       // of a line
  std::int64_t line_step = 0;   // between what neighbours in a line have at one place
  std::int64_t place_step = 1;  // from one place to the next
};

std::int64_t size_in(const TensorArgument& tensor, std::size_t dimension) {
  return tensor.rank() == 0 ? 1 : tensor.shape()[dimension];
}

// Finds where the lines of an index with elements lie.
Status place_lines(const TensorArgument& index, std::size_t along, Gathering& gathering) {
  const TensorArgument& self = gathering.self;
  const auto rank = static_cast<std::size_t>(std::max(self.rank(), 1));
  if (rank != static_cast<std::size_t>(std::max(index.rank(), 1))) {
    return refused("self and the index differ in their number of dimensions");
  }
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * size_in(self, i);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = size_in(index, i);
    if (i != along && size > size_in(self, i)) {
      return refused("the index has " + std::to_string(size) + " elements in dimension " +
                     std::to_string(i) + ", more than self");
    }
    if (i + 1 < rank) gathering.rows.add(size, i == along ? 0 : strides[i]);
  }
  gathering.width = size_in(index, rank - 1);
  gathering.place_step = strides[along];
  gathering.line_step = along + 1 == rank ? 0 : 1;
  return {};
}

Result<Gathering> gathering(ProgramArguments& arguments, const Places& places) {
  const std::int64_t dimension = arguments.integer(1);
  const TensorArgument index = arguments.tensor(2);
  Gathering found;
  found.self = arguments.tensor(0);
  if (const Status is = require_row_major(found.self, "self"); !is) return is.error();
  const Result<std::size_t> along = resolve_dimension(found.self.shape(), dimension);
  if (!along) return along.error();
  found.index = places.all();
  found.end = size_in(found.self, *along);
  if (found.index.empty()) return found;
  if (const Status are = place_lines(index, *along, found); !are) return are.error();
  return found;
}

// Copies the elements that one line of an index names.
template <std::size_t kBytes>
void gather_line(const Gathering& gathering, std::int64_t row, std::byte* out) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  constexpr Block<kBytes> kCopy{};
  const std::int64_t width = gathering.width;
  const std::byte* const from = gathering.self.bytes() + gathering.rows.at(row) * kStep;
  const auto places = gathering.index.subspan(static_cast<std::size_t>(row * width),
                                              static_cast<std::size_t>(width));
  std::byte* const to = out + row * width * kStep;
  if (gathering.line_step == 0) return copy_places<kBytes>(to, from, places);
  const std::int64_t place_bytes = gathering.place_step * kStep;
  for (std::int64_t i = 0; i < width; ++i) {
    kCopy(to + i * kStep, from + i * kStep + places[static_cast<std::size_t>(i)] * place_bytes);
  }
}

// Checks some lines at a time before it copies, so that the processor still has them near.
template <std::size_t kBytes>
Status gather(const Gathering& gathering, std::byte* out) {
  constexpr std::int64_t kCheckedAtOnce = 1024;
  const std::int64_t width = gathering.width;
  const std::int64_t lines = std::max<std::int64_t>(1, kCheckedAtOnce / width);
  std::atomic<bool> are_there = true;
  for_each_range(gathering.rows.count(), width, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last;) {
      const std::int64_t end = std::min(last, row + lines);
      const auto checked = gathering.index.subspan(static_cast<std::size_t>(row * width),
                                                   static_cast<std::size_t>((end - row) * width));
      if (!are_places(checked, gathering.end)) {
        are_there = false;
        return;
      }
      for (; row < end; ++row) gather_line<kBytes>(gathering, row, out);
    }
  });
  return are_there ? Status{} : require_places(gathering.index, gathering.end);
}

struct Gather {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::gather.out(Tensor self, int dim, Tensor index, *, bool "
      "sparse_grad=False, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    (void)arguments.tensor(0);
    (void)arguments.integer(1);
    const TensorArgument index = arguments.tensor(2);
    if (!arguments.status()) return arguments.status();
    const Result<Places> places = Places::create(index);
    if (!places) return places.error();
    const Result<Gathering> found = gathering(arguments, *places);
    if (!found) return found.error();
    const Result<TensorArgument> out = result_beside(arguments, 4, found->self, index.shape());
    if (!out) return out.error();
    if (overlap(index, *out)) return refused("out lies where the index does");
    if (out->element_count() == 0) return {};
    Status gathered;
    with_element_size(out->dtype(), [&]<std::size_t kBytes>() {
      gathered = gather<kBytes>(*found, out->bytes());
    });
    return gathered;
  }
};

struct Index {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> "
      "Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const EtTensor self = arguments.program_tensor(0);
    const std::vector<std::optional<EtTensor>> indices = arguments.optional_program_tensors(1);
    const TensorArgument given = arguments.tensor(0);
    if (!arguments.status()) return arguments.status();
    Result<Selection> selection = Selection::create(self, indices);
    if (!selection) return selection.error();
    const Result<TensorArgument> out = result_beside(arguments, 2, given, selection->shape());
    if (!out) return out.error();
    const EtTensor result = arguments.program_tensor(2);
    if (Status paired = selection->pair_with(result); !paired) return paired;
    if (out->element_count() > 0) selection->read(self, result);
    return {};
  }
};

struct IndexPutOut {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool "
      "accumulate=False, *, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const EtTensor self = arguments.program_tensor(0);
    const std::vector<std::optional<EtTensor>> indices = arguments.optional_program_tensors(1);
    const EtTensor values = arguments.program_tensor(2);
    const bool accumulate = arguments.boolean(3);
    const TensorArgument given = arguments.tensor(0);
    const TensorArgument put = arguments.tensor(2);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(given, "self"); !is) return is;
    if (Status same = require_same_dtype(self, values); !same) return same;
    Result<Selection> selection = Selection::create(self, indices);
    if (!selection) return selection.error();
    if (Status paired = selection->pair_with(values); !paired) return paired;
    const Result<TensorArgument> out = result_beside(arguments, 4, given, given.shape());
    if (!out) return out.error();
    if (overlap(put, *out)) return refused("out lies where the values do");
    if (out->element_count() == 0) return {};
    std::memcpy(out->bytes(), given.bytes(),
                static_cast<std::size_t>(given.element_count()) * size_of(given.dtype()));
    const EtTensor result = arguments.program_tensor(4);
    if (accumulate) return selection->add(result, values);
    selection->write(result, values);
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> row_operators() {
  return listed<Gather, Index, IndexPutOut, IndexSelect>();
}

}  // namespace polystate
