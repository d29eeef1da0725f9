#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/advanced_index.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {

// The elements self[indices], as NumPy and ATen define it: the index tensors are broadcast to one
// shape, which stands in the result where the indexed dimensions stood, or in front where those are
// not neighbours; the other dimensions are taken whole.
class Selection {
 public:
  // Fails where an index is out of range, or does not go with the others.
  static Result<Selection> create(const EtTensor& self,
                                  const std::vector<std::optional<EtTensor>>& indices);

  // Of what is selected: before x positions x after.
  [[nodiscard]] const Shape& shape() const { return shape_; }

  // Finds where the selected elements lie in self, and where those of `other` do, whose shape is
  // broadcast to the selection's. Afterwards elements may move between the two.
  Status pair_with(const EtTensor& other);

  // Copies from self to `other`, or the other way.
  void read(const EtTensor& self, const EtTensor& other) const;
  void write(const EtTensor& self, const EtTensor& other) const;
  // Adds elements of `other` to those of self, one after another; fails for types without a sum.
  [[nodiscard]] Status add(const EtTensor& self, const EtTensor& other) const;

 private:
  // Distances in bytes along a dimension that is taken whole.
  struct Whole {
    std::int64_t size;
    std::int64_t self;
    std::int64_t other;
  };

  void find_positions();
  [[nodiscard]] std::vector<CopyDimension> after(bool reads) const;
  template <typename T>
  void add_as(std::byte* to, const std::byte* from) const;
  template <typename Move>
  void for_each_position(const Move& move) const;
  template <typename Move>
  void for_each_of(std::int64_t self, std::int64_t other, const Move& move) const;

  std::vector<DimensionIndex> indices_;
  Strides self_strides_;
  std::vector<std::size_t> before_dimensions_, after_dimensions_;  // of self
  Shape positions_;  // the broadcast shape of the index tensors
  Shape shape_;

  std::vector<std::int64_t> self_before_, other_before_;  // offsets
  std::vector<std::int64_t> self_positions_, other_positions_;
  std::optional<std::int64_t> other_step_;  // in place of `other_positions_`, where they are even
  std::vector<Whole> after_;
};

}  // namespace polystate
