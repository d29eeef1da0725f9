#include "artifact/manifest_with_pairs.h"

#include <cstdint>
#include <optional>

#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

constexpr std::int64_t kParts = 2;

template <typename Spec, typename Size>  // an input, an output or a state; how it has a size
void make_pairs(Spec& spec, const Size& parts) {
  const std::optional<DType> part = part_of(spec.dtype);
  if (!part) return;
  spec.dtype = *part;
  spec.shape.push_back(parts);
}

}  // namespace

Manifest manifest_with_pairs(Manifest manifest) {
  const Expression parts = Expression::constant(kParts);
  for (StateSpec& state : manifest.state) make_pairs(state, kParts);
  for (MethodSpec& method : manifest.methods) {
    for (InputSpec& input : method.inputs) make_pairs(input, parts);
    for (OutputSpec& output : method.outputs) make_pairs(output, std::optional(parts));
  }
  return manifest;
}

}  // namespace polystate
