#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/overlap.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that keep a triangle of each matrix, and have zeros elsewhere.
namespace polystate {
namespace {

struct Tril {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> "
      "Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const std::int64_t diagonal = arguments.integer(1);
    if (!arguments.status()) return arguments.status();
    if (Status is = require_row_major(self, "self"); !is) return is;
    if (self.rank() < 2) return refused("self is no matrix");
    const Result<TensorArgument> out = result_beside(arguments, 2, self, self.shape());
    if (!out) return out.error();
    const std::int64_t height = self.size(self.rank() - 2);
    const std::int64_t width = self.size(self.rank() - 1);
    if (height == 0 || width == 0) return {};
    const auto bytes = static_cast<std::int64_t>(size_of(self.dtype()));
    // How many elements of the first row are kept; of every other row one more than of the last.
    const std::int64_t kept = std::clamp(diagonal, -height, width) + 1;
    const std::int64_t rows = self.element_count() / width;
    for_each_range(rows, width, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t count = std::clamp<std::int64_t>(kept + row % height, 0, width);
        std::byte* const to = out->bytes() + row * width * bytes;
        std::memcpy(to, self.bytes() + row * width * bytes,
                    static_cast<std::size_t>(count * bytes));
        std::memset(to + count * bytes, 0, static_cast<std::size_t>((width - count) * bytes));
      }
    });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> triangle_operators() { return listed<Tril>(); }

}  // namespace polystate
