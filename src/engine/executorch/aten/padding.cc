#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// Operators that continue the last dimensions of a tensor at their ends by elements of their own.
namespace polystate {
namespace {

enum class Padding : std::uint8_t { kReflection, kReplication };

// A dimension of `size` elements with others before and behind; negative numbers take some away.
struct Padded {
  std::int64_t size = 1;
  std::int64_t before = 0;
  std::int64_t behind = 0;

  [[nodiscard]] std::int64_t results() const { return before + size + behind; }

  // For each element of the result, which one of the dimension it is.
  [[nodiscard]] std::vector<std::int64_t> places(Padding padding) const {
    std::vector<std::int64_t> places;
    places.reserve(static_cast<std::size_t>(results()));
    const std::int64_t last = size - 1;
    for (std::int64_t i = -before; i < size + behind; ++i) {
      const std::int64_t inside = std::clamp<std::int64_t>(i, 0, last);
      places.push_back(padding == Padding::kReflection ? inside + (inside - i) : inside);
    }
    return places;
  }
};

// What a tensor is padded to: planes of up to three dimensions, the last ones.
struct PaddedPlanes {
  TensorArgument self;
  std::int64_t count = 1;
  std::array<Padded, 3> dimensions;
  std::vector<std::int64_t> shape;  // of the result
};

// A number of elements that are added to `size`, or taken away.
Status check_added(const Padded& padded, Padding padding) {
  for (const std::int64_t added : {padded.before, padded.behind}) {
    const bool is_too_much = padding == Padding::kReflection
                                 ? added >= padded.size
                                 : added > std::numeric_limits<std::int32_t>::max();
    if (is_too_much || added < -padded.size) {
      return refused("a dimension of " + std::to_string(padded.size) + " elements is padded by " +
                     std::to_string(added));
    }
  }
  if (padded.results() < 1 || padded.size == 0) {
    return refused("a dimension of " + std::to_string(padded.size) + " elements is padded to " +
                   std::to_string(padded.results()));
  }
  return {};
}

Result<PaddedPlanes> padded_planes(ProgramArguments& arguments, std::size_t rank, Padding padding) {
  PaddedPlanes planes;
  planes.self = arguments.tensor(0);
  const std::vector<std::int64_t> added = arguments.integers(1);
  if (!arguments.status()) return arguments.status().error();
  const TensorArgument& self = planes.self;
  if (const Status is = require_row_major(self, "self"); !is) return is.error();
  const auto all = static_cast<std::size_t>(self.rank());
  if (added.size() != 2 * rank || (all != rank + 1 && all != rank + 2)) {
    return refused("self has " + std::to_string(all) + " dimensions, of which " +
                   std::to_string(added.size()) + " ends are padded");
  }
  planes.shape.assign(self.shape().begin(), self.shape().end());
  for (std::size_t i = 0; i + rank < all; ++i) planes.count *= planes.shape[i];
  for (std::size_t i = 0; i < rank; ++i) {  // the ends of the last dimension come first
    Padded& padded = planes.dimensions[2 - i];
    padded = {
        .size = planes.shape[all - 1 - i], .before = added[2 * i], .behind = added[2 * i + 1]};
    if (const Status is = check_added(padded, padding); !is) return is.error();
    planes.shape[all - 1 - i] = padded.results();
  }
  return planes;
}

// Copies a row: what is before its own elements, these, and what is behind.
template <std::size_t kBytes>
void pad_row(const Padded& row, std::span<const std::int64_t> places, std::byte* to,
             const std::byte* from) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  constexpr Block<kBytes> kCopy{};
  const auto copy_places = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      kCopy(to + i * kStep, from + places[static_cast<std::size_t>(i)] * kStep);
    }
  };
  const std::int64_t results = row.results();
  const std::int64_t own = std::clamp<std::int64_t>(row.before, 0, results);
  const std::int64_t end = std::clamp<std::int64_t>(row.before + row.size, own, results);
  copy_places(0, own);
  if (own < end) {
    std::memcpy(to + own * kStep, from + places[static_cast<std::size_t>(own)] * kStep,
                static_cast<std::size_t>((end - own) * kStep));
  }
  copy_places(end, results);
}

template <std::size_t kBytes>
void pad_planes(const PaddedPlanes& planes, Padding padding, std::byte* out) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  const auto& [depth, height, width] = planes.dimensions;
  const std::vector<std::int64_t> depths = depth.places(padding);
  const std::vector<std::int64_t> heights = height.places(padding);
  const std::vector<std::int64_t> widths = width.places(padding);
  const std::int64_t rows = planes.count * depth.results() * height.results();
  for_each_range(rows, width.results(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t plane = row / height.results() / depth.results();
      const std::int64_t d =
          depths[static_cast<std::size_t>(row / height.results() % depth.results())];
      const std::int64_t h = heights[static_cast<std::size_t>(row % height.results())];
      const std::int64_t from = ((plane * depth.size + d) * height.size + h) * width.size;
      pad_row<kBytes>(width, widths, out + row * width.results() * kStep,
                      planes.self.bytes() + from * kStep);
    }
  });
}

Status pad(ProgramArguments& arguments, std::size_t rank, Padding padding) {
  const Result<PaddedPlanes> planes = padded_planes(arguments, rank, padding);
  if (!planes) return planes.error();
  const Result<TensorArgument> out = result_beside(arguments, 2, planes->self, planes->shape);
  if (!out) return out.error();
  if (out->element_count() == 0) return {};
  with_element_size(out->dtype(), [&]<std::size_t kBytes>() {
    pad_planes<kBytes>(*planes, padding, out->bytes());
  });
  return {};
}

struct ReflectionPad1d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::reflection_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return pad(arguments, 1, Padding::kReflection); }
};

struct ReflectionPad2d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::reflection_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return pad(arguments, 2, Padding::kReflection); }
};

struct ReflectionPad3d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::reflection_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return pad(arguments, 3, Padding::kReflection); }
};

struct ReplicationPad1d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::replication_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return pad(arguments, 1, Padding::kReplication);
  }
};

struct ReplicationPad2d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::replication_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return pad(arguments, 2, Padding::kReplication);
  }
};

struct ReplicationPad3d {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::replication_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return pad(arguments, 3, Padding::kReplication);
  }
};

}  // namespace

std::span<const ListedOperator> padding_operators() {
  return listed<ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
                ReplicationPad2d, ReplicationPad3d>();
}

}  // namespace polystate
