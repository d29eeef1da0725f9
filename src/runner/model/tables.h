#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/tensor.h"
#include "runner/cache/page_table.h"

namespace polystate {

// Borrows `values` as an int64 tensor [values], until they change.
Tensor as_vector(std::vector<std::int64_t>& values);
// The same as [rows, values / rows].
Tensor as_matrix(std::vector<std::int64_t>& values, std::size_t rows);

// Makes `matrix` the pages of each table [tables, pages of the longest], padded with 0.
void lay_out(std::span<const PageTable* const> tables, std::vector<std::int64_t>& matrix);

}  // namespace polystate
