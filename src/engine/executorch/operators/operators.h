#pragma once

#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// Operators that only programs of ExecuTorch have: checks of values, and changes of a state where
// it lies. python/polystate/ops has the meaning of each. A failing operator has
// written nothing; a check that does not hold leaves a CheckFailure too.
struct CheckRange {
  static constexpr OperatorSchema kSchema{
      "polystate::check_range.out(Tensor x, Tensor value, SymInt low, SymInt high, int id, "
      "*, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(ProgramArguments& arguments);
};

struct CheckTrue {
  static constexpr OperatorSchema kSchema{
      "polystate::check.out(Tensor x, Tensor ok, int id, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(ProgramArguments& arguments);
};

struct CheckSize {
  static constexpr OperatorSchema kSchema{
      "polystate::check_size.out(Tensor x, SymInt value, SymInt low, SymInt high, int id, "
      "*, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(ProgramArguments& arguments);
};

struct CheckPlaces {
  static constexpr OperatorSchema kSchema{
      "polystate::check_places.out(Tensor x, Tensor page_table, Tensor positions, "
      "Tensor rows, SymInt page, int id, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(ProgramArguments& arguments);
};

struct CheckPageCopies {
  static constexpr OperatorSchema kSchema{
      "polystate::check_page_copies.out(Tensor x, Tensor source, Tensor target, int id, "
      "*, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(ProgramArguments& arguments);
};

struct SliceScatter {
  static constexpr OperatorSchema kSchema{
      "polystate::slice_scatter_(Tensor(a!) self, Tensor src, int dim, SymInt start, "
      "SymInt end, SymInt step) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments);
};

struct SelectScatter {
  static constexpr OperatorSchema kSchema{
      "polystate::select_scatter_(Tensor(a!) self, Tensor src, int dim, SymInt index) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments);
};

struct IndexCopy {
  static constexpr OperatorSchema kSchema{
      "polystate::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments);
};

struct IndexPut {
  static constexpr OperatorSchema kSchema{
      "polystate::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, "
      "bool accumulate) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments);
};

}  // namespace polystate
