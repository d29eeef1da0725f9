#include "runner/model/tables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"
#include "runner/cache/page_table.h"

namespace polystate {

Tensor as_vector(std::vector<std::int64_t>& values) {
  return Tensor::borrow(DType::kInt64, {std::ssize(values)}, values.data()).value();
}

Tensor as_matrix(std::vector<std::int64_t>& values, std::size_t rows) {
  const auto columns = static_cast<std::int64_t>(values.size() / rows);
  return Tensor::borrow(DType::kInt64, {static_cast<std::int64_t>(rows), columns}, values.data())
      .value();
}

void lay_out(std::span<const PageTable* const> tables, std::vector<std::int64_t>& matrix) {
  std::size_t columns = 0;
  for (const PageTable* table : tables) columns = std::max(columns, table->pages().size());
  matrix.assign(tables.size() * columns, 0);
  auto row = matrix.begin();
  for (const PageTable* table : tables) {
    std::ranges::copy(table->pages(), row);
    row += static_cast<std::ptrdiff_t>(columns);
  }
}

}  // namespace polystate
