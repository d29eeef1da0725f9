#include "engine/executorch/operators/register.h"

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <algorithm>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/operators.h"
#include "kernels/operators.h"
#include "polystate/engine/operators.h"

namespace polystate {
namespace {

using executorch::runtime::Kernel;
using executorch::runtime::Span;

// This project's own operators, then PyTorch's.
const std::vector<ListedOperator>& all_operators() {
  static const std::vector<ListedOperator> all = [] {
    std::vector<ListedOperator> operators;
    const auto add = [&](std::span<const ListedOperator> list) {
      operators.insert(operators.end(), list.begin(), list.end());
    };
    add(listed<CheckRange, CheckTrue, CheckSize, CheckPlaces, CheckPageCopies, SliceScatter,
               SelectScatter, IndexCopy, IndexPut, PagedAttention, CrossAttention, DenseAttention,
               WritePages, CopyPages, PackedLinear, PackedEmbedding, QuantizedLinear,
               QuantizedEmbedding, GroupwiseLinear, GroupwiseEmbedding, LayerNorm, Recurrence, Fft,
               RealFft, InverseRealFft>());
    for (const auto family : kAtenFamilies) add(family());
    return operators;
  }();
  return all;
}

}  // namespace

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    // A second copy of this library in one process shares ExecuTorch's registry, which aborts on a
    // repeated name.
    std::unordered_set<std::string_view> names;
    for (const Kernel& kernel : executorch::runtime::get_registered_kernels()) {
      names.insert(kernel.name_);
    }
    for (const ListedOperator& listed : all_operators()) {
      if (names.insert(listed.name).second) {
        (void)executorch::runtime::register_kernel(Kernel(listed.name, listed.function));
      }
    }
  });
}

std::vector<std::string> executorch_operators() {
  std::vector<std::string> schemas;
  for (const ListedOperator& listed : all_operators()) schemas.emplace_back(listed.schema.text());
  return schemas;
}

bool is_registered(std::string_view name) {
  const Span<const Kernel> kernels = executorch::runtime::get_registered_kernels();
  return std::ranges::any_of(kernels,
                             [name](const Kernel& kernel) { return kernel.name_ == name; });
}

}  // namespace polystate
