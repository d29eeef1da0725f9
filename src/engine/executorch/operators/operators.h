#pragma once

#include <cstddef>

#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// Operators that only programs of ExecuTorch have: checks of values, and changes of a state where
// it lies. python/polystate/ops has the schema and the meaning of each. A failing operator has
// written nothing; a check that does not hold leaves a CheckFailure too.
struct CheckRange {
  static constexpr const char* kName = "polystate::check_range.out";
  static constexpr std::size_t kArguments = 6;
  static Status run(ProgramArguments& arguments);  // x, value, low, high, id, out
};

struct CheckTrue {
  static constexpr const char* kName = "polystate::check.out";
  static constexpr std::size_t kArguments = 4;
  static Status run(ProgramArguments& arguments);  // x, ok, id, out
};

struct CheckSize {
  static constexpr const char* kName = "polystate::check_size.out";
  static constexpr std::size_t kArguments = 6;
  static Status run(ProgramArguments& arguments);  // x, value, low, high, id, out
};

struct CheckPlaces {
  static constexpr const char* kName = "polystate::check_places.out";
  static constexpr std::size_t kArguments = 7;
  static Status run(ProgramArguments& arguments);  // x, page_table, positions, rows, page, id, out
};

struct SliceScatter {
  static constexpr const char* kName = "polystate::slice_scatter_";
  static constexpr std::size_t kArguments = 6;
  static Status run(ProgramArguments& arguments);  // self, src, dim, start, end, step
};

struct SelectScatter {
  static constexpr const char* kName = "polystate::select_scatter_";
  static constexpr std::size_t kArguments = 4;
  static Status run(ProgramArguments& arguments);  // self, src, dim, index
};

struct IndexCopy {
  static constexpr const char* kName = "polystate::index_copy_";
  static constexpr std::size_t kArguments = 4;
  static Status run(ProgramArguments& arguments);  // self, dim, index, source
};

struct IndexPut {
  static constexpr const char* kName = "polystate::index_put_";
  static constexpr std::size_t kArguments = 4;
  static Status run(ProgramArguments& arguments);  // self, indices, values, accumulate
};

}  // namespace polystate
