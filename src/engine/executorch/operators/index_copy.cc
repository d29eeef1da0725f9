#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

// The rows that `index` names, each checked against the dimension's size. A copy: where `index`
// lies in what is written, it would change after it was checked.
Result<std::vector<std::int64_t>> checked_rows(const EtTensor& index, std::int64_t size) {
  if (index.scalar_type() != ScalarType::Long || index.dim() > 1) {
    return Error{ErrorCode::kEngine, "index is not a vector of int64 but of shape " +
                                         to_string(index) + " and type " +
                                         type_text(index.scalar_type())};
  }
  const auto* const first = index.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(first, first + index.numel());
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= size) {
      return Error{ErrorCode::kEngine, "index " + std::to_string(row) + " of a dimension of " +
                                           std::to_string(size) + " elements"};
    }
  }
  return rows;
}

}  // namespace

Status IndexCopy::run(ProgramArguments& arguments) {
  const EtTensor self = arguments.program_tensor(0);
  const std::int64_t dim = arguments.integer(1);
  const EtTensor index = arguments.program_tensor(2);
  const EtTensor source = arguments.program_tensor(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status same = require_same_dtype(self, source); !same) {
    return same;
  }
  const Result<std::size_t> dimension = resolve_dimension(self, dim);
  if (!dimension) {
    return dimension.error();
  }
  const Result<std::vector<std::int64_t>> rows =
      checked_rows(index, self.dim() == 0 ? 1 : self.sizes()[*dimension]);
  if (!rows) {
    return rows.error();
  }

  // Without dimensions there is one element, and any row is it.
  const Strides to_strides = byte_strides(self);
  const Strides from_strides = byte_strides(source);
  const auto count = static_cast<std::int64_t>(rows->size());
  std::vector<CopyDimension> copy;
  bool fits = source.dim() == self.dim() && (self.dim() > 0 || count == 1);
  for (std::size_t i = 0; fits && i < to_strides.size(); ++i) {
    if (i == *dimension) {
      fits = source.sizes()[i] == count;
    } else {
      copy.push_back({self.sizes()[i], to_strides[i], from_strides[i]});
      fits = source.sizes()[i] == self.sizes()[i];
    }
  }
  if (!fits) {
    return Error{ErrorCode::kEngine, "source has shape " + to_string(source) + ", but " +
                                         std::to_string(count) + " rows of dimension " +
                                         std::to_string(*dimension) + " of " + to_string(self) +
                                         " are written"};
  }
  const std::int64_t to_row = self.dim() == 0 ? 0 : to_strides[*dimension];
  const std::int64_t from_row = self.dim() == 0 ? 0 : from_strides[*dimension];
  const ElementsCopy copy_row(copy, static_cast<std::size_t>(self.element_size()));
  for (std::int64_t i = 0; i < count; ++i) {
    copy_row(data_of(self) + (*rows)[i] * to_row, data_of(source) + i * from_row);
  }
  return {};
}

}  // namespace polystate
