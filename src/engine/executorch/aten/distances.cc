#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/offsets.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

// Distances between vectors. ExecuTorch's own lose NaN.
namespace polystate {
namespace {

// A distance is `finish` of what `add` makes of the differences, from 0 on.
struct WithoutRoot {
  template <typename C>
  C finish(C sum) const {
    return sum;
  }
};

struct Differing : WithoutRoot {  // p = 0: how many elements differ
  template <typename C>
  C add(C sum, C difference) const {
    return sum + (std::isnan(difference) ? difference : static_cast<C>(difference != 0));
  }
};

struct Absolute : WithoutRoot {  // p = 1
  template <typename C>
  C add(C sum, C difference) const {
    return sum + difference;
  }
};

struct Euclidean {  // p = 2
  template <typename C>
  C add(C sum, C difference) const {
    return sum + difference * difference;
  }
  template <typename C>
  C finish(C sum) const {
    return std::sqrt(sum);
  }
};

struct LargestDifference : WithoutRoot {  // p = infinity; PyTorch leaves NaN out here
  template <typename C>
  C add(C sum, C difference) const {
    return difference > sum ? difference : sum;
  }
};

struct Powers {
  double p;
  template <typename C>
  C add(C sum, C difference) const {
    return sum + std::pow(difference, static_cast<C>(p));
  }
  template <typename C>
  C finish(C sum) const {
    return std::pow(sum, static_cast<C>(1 / p));
  }
};

template <typename Work>
void with_norm(double p, const Work& work) {
  if (p == 0.0) return work(Differing{});
  if (p == 1.0) return work(Absolute{});
  if (p == 2.0) return work(Euclidean{});
  if (p == std::numeric_limits<double>::infinity()) return work(LargestDifference{});
  work(Powers{p});
}

template <typename T, typename Norm>
T distance(const T* a, const T* b, std::int64_t size, const Norm& norm) {
  using C = Computed<T>;
  C sum{0};
  for (std::int64_t i = 0; i < size; ++i) {
    sum = norm.add(sum, std::abs(static_cast<C>(a[i]) - static_cast<C>(b[i])));
  }
  return static_cast<T>(norm.finish(sum));
}

// Two tensors [batch..., vectors, size], whose batches are broadcast.
struct Pairs {
  Offsets first;  // where the vectors of a batch begin
  Offsets second;
  std::int64_t rows = 0;     // vectors of the first in a batch
  std::int64_t columns = 0;  // of the second
  std::int64_t size = 0;     // of a vector
  std::vector<std::int64_t> shape;
};

Result<Pairs> pairs_of(const TensorArgument& first, const TensorArgument& second) {
  const bool fits = first.rank() >= 2 && second.rank() >= 2 && first.dtype() == second.dtype() &&
                    first.size(first.rank() - 1) == second.size(second.rank() - 1);
  if (!fits) return Error{ErrorCode::kEngine, "x1 and x2 do not fit each other"};
  Pairs pairs;
  pairs.rows = first.size(first.rank() - 2);
  pairs.columns = second.size(second.rank() - 2);
  pairs.size = first.size(first.rank() - 1);
  const int rank = std::max(first.rank(), second.rank()) - 2;
  const auto size_of = [rank](const TensorArgument& tensor, int i) {
    const int place = i - rank + tensor.rank() - 2;
    return place < 0 ? std::int64_t{1} : tensor.size(place);
  };
  // How far the vectors of an index and the next one lie apart.
  const auto stride_of = [&size_of, rank](const TensorArgument& tensor, int i) {
    if (size_of(tensor, i) == 1) return std::int64_t{0};
    std::int64_t stride = tensor.size(tensor.rank() - 2) * tensor.size(tensor.rank() - 1);
    for (int inner = i + 1; inner < rank; ++inner) stride *= size_of(tensor, inner);
    return stride;
  };
  for (int i = 0; i < rank; ++i) {
    const std::int64_t a = size_of(first, i);
    const std::int64_t b = size_of(second, i);
    if (a != b && a != 1 && b != 1) {
      return Error{ErrorCode::kEngine, "batches of " + to_string(first.shape()) + " and " +
                                           to_string(second.shape()) + " do not fit each other"};
    }
    const std::int64_t size = a == 1 ? b : a;
    pairs.first.add(size, stride_of(first, i));
    pairs.second.add(size, stride_of(second, i));
    pairs.shape.push_back(size);
  }
  pairs.shape.push_back(pairs.rows);
  pairs.shape.push_back(pairs.columns);
  return pairs;
}

template <typename T>
void fill(const Pairs& pairs, const T* first, const T* second, double p, T* out) {
  const std::int64_t count = pairs.first.count() * pairs.rows;
  with_norm(p, [&](const auto& norm) {
    for_each_range(count, pairs.columns * pairs.size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t batch = row / pairs.rows;
        const T* const a = first + pairs.first.at(batch) + row % pairs.rows * pairs.size;
        const T* b = second + pairs.second.at(batch);
        T* const to = out + row * pairs.columns;
        for (std::int64_t i = 0; i < pairs.columns; ++i, b += pairs.size) {
          to[i] = distance(a, b, pairs.size, norm);
        }
      }
    });
  });
}

struct CdistForward {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, "
      "Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument first = arguments.tensor(0);
    const TensorArgument second = arguments.tensor(1);
    const double p = arguments.scalar(2);
    if (!arguments.status()) return arguments.status();
    if (Status row_major = require_row_major(first, "x1"); !row_major) return row_major;
    if (Status row_major = require_row_major(second, "x2"); !row_major) return row_major;
    if (!(p >= 0)) return Error{ErrorCode::kEngine, "p is " + std::to_string(p)};
    const Result<Pairs> pairs = pairs_of(first, second);
    if (!pairs) return pairs.error();
    const Result<TensorArgument> out = arguments.result_at(4, first.dtype(), pairs->shape);
    if (!out) return out.error();
    if (out->element_count() == 0) return {};
    return with_element_type(first.dtype(), [&]<typename T>() -> Status {
      if constexpr (kIsFloat<T>) {
        fill(*pairs, elements<const T>(first).data(), elements<const T>(second).data(), p,
             elements<T>(*out).data());
        return {};
      } else {
        return Error{ErrorCode::kEngine, "x1 is of integers"};
      }
    });
  }
};

}  // namespace

std::span<const ListedOperator> distance_operators() { return listed<CdistForward>(); }

}  // namespace polystate
