// polystate's operators as libraries of AOTInductor call them: the C form that the exporter
// declares to it from the operators' schemas (python/polystate/export/lowering/inductor.py).
#include <torch/csrc/inductor/aoti_torch/c/macros.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/aoti/library_arguments.h"
#include "engine/aoti/operator_failure.h"
#include "kernels/operator_schema.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The type of a schema that a library passes as a C++ type.
template <typename Value>
constexpr std::string_view kTypeOf;
template <>
constexpr std::string_view kTypeOf<AtenTensorHandle> = "Tensor";
template <>
constexpr std::string_view kTypeOf<const AtenTensorHandle*> = "Tensor?";
template <>
constexpr std::string_view kTypeOf<std::int64_t> = "int";
template <>
constexpr std::string_view kTypeOf<double> = "float";
template <>
constexpr std::string_view kTypeOf<bool> = "bool";
template <>
constexpr std::string_view kTypeOf<const char*> = "str";

// A size is passed as a number.
constexpr std::string_view passed_as(std::string_view type) {
  return type == "SymInt" ? "int" : type;
}

// Whether values of these types are what an operator is called with; its result comes last.
template <typename... Values>
constexpr bool fits(const OperatorSchema& schema) {
  std::size_t index = 0;
  return ((passed_as(schema.type_of(index++)) == kTypeOf<Values>) && ...) &&
         schema.argument_count() == sizeof...(Values) + 1;
}

template <typename Operator, typename... Values>
AOTITorchError call(AtenTensorHandle* result, Values... given) {
  static_assert(fits<Values...>(Operator::kSchema));
  const std::array<LibraryValue, sizeof...(Values)> values = {given...};
  LibraryArguments arguments(values);
  if (const Status status = Operator::run(arguments); !status) {
    record_operator_failure({status.error().code, std::string(Operator::kSchema.name()) + ": " +
                                                      status.error().message});
    return AOTI_TORCH_FAILURE;
  }
  *result = arguments.take_result().release();
  return AOTI_TORCH_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-function-size): libraries call them so
extern "C" {

#define POLYSTATE_SHIM __attribute__((visibility("default"))) AOTITorchError

POLYSTATE_SHIM aoti_torch_cpu_paged_attention(
    AtenTensorHandle query, AtenTensorHandle key, AtenTensorHandle value, AtenTensorHandle key_pool,
    AtenTensorHandle value_pool, AtenTensorHandle page_table, AtenTensorHandle positions,
    AtenTensorHandle rows, const AtenTensorHandle* bias, const AtenTensorHandle* sinks,
    double scale, double softcap, std::int64_t window, AtenTensorHandle* result) {
  return call<PagedAttention>(result, query, key, value, key_pool, value_pool, page_table,
                              positions, rows, bias, sinks, scale, softcap, window);
}

POLYSTATE_SHIM aoti_torch_cpu_cross_attention(AtenTensorHandle query, AtenTensorHandle key_pool,
                                              AtenTensorHandle value_pool,
                                              AtenTensorHandle cross_table,
                                              AtenTensorHandle lengths, AtenTensorHandle rows,
                                              const AtenTensorHandle* bias, double scale,
                                              double softcap, AtenTensorHandle* result) {
  return call<CrossAttention>(result, query, key_pool, value_pool, cross_table, lengths, rows, bias,
                              scale, softcap);
}

POLYSTATE_SHIM aoti_torch_cpu_attention(AtenTensorHandle query, AtenTensorHandle key,
                                        AtenTensorHandle value, const AtenTensorHandle* lengths,
                                        const AtenTensorHandle* bias, const AtenTensorHandle* sinks,
                                        double scale, double softcap, std::int64_t window,
                                        std::int32_t causal, AtenTensorHandle* result) {
  return call<DenseAttention>(result, query, key, value, lengths, bias, sinks, scale, softcap,
                              window, causal != 0);
}

POLYSTATE_SHIM aoti_torch_cpu_write_pages(AtenTensorHandle key, AtenTensorHandle value,
                                          AtenTensorHandle key_pool, AtenTensorHandle value_pool,
                                          AtenTensorHandle page_table, AtenTensorHandle lengths,
                                          AtenTensorHandle* result) {
  return call<WritePages>(result, key, value, key_pool, value_pool, page_table, lengths);
}

POLYSTATE_SHIM aoti_torch_cpu_copy_pages(AtenTensorHandle key_pool, AtenTensorHandle value_pool,
                                         AtenTensorHandle source, AtenTensorHandle target,
                                         AtenTensorHandle* result) {
  return call<CopyPages>(result, key_pool, value_pool, source, target);
}

POLYSTATE_SHIM aoti_torch_cpu_packed_linear(AtenTensorHandle x, AtenTensorHandle tiles,
                                            std::int64_t columns, const AtenTensorHandle* bias,
                                            const AtenTensorHandle* addend, const char* activation,
                                            AtenTensorHandle* result) {
  return call<PackedLinear>(result, x, tiles, columns, bias, addend, activation);
}

POLYSTATE_SHIM aoti_torch_cpu_packed_embedding(AtenTensorHandle ids, AtenTensorHandle tiles,
                                               std::int64_t columns, AtenTensorHandle* result) {
  return call<PackedEmbedding>(result, ids, tiles, columns);
}

POLYSTATE_SHIM aoti_torch_cpu_quantized_linear(AtenTensorHandle x, AtenTensorHandle tiles,
                                               AtenTensorHandle scales, AtenTensorHandle sums,
                                               const AtenTensorHandle* bias,
                                               const AtenTensorHandle* addend,
                                               const char* activation, AtenTensorHandle* result) {
  return call<QuantizedLinear>(result, x, tiles, scales, sums, bias, addend, activation);
}

POLYSTATE_SHIM aoti_torch_cpu_quantized_embedding(AtenTensorHandle ids, AtenTensorHandle tiles,
                                                  AtenTensorHandle scales, std::int64_t depth,
                                                  AtenTensorHandle* result) {
  return call<QuantizedEmbedding>(result, ids, tiles, scales, depth);
}

POLYSTATE_SHIM aoti_torch_cpu_groupwise_linear(AtenTensorHandle x, AtenTensorHandle tiles,
                                               AtenTensorHandle scales, std::int64_t columns,
                                               const AtenTensorHandle* bias,
                                               const AtenTensorHandle* addend,
                                               const char* activation, AtenTensorHandle* result) {
  return call<GroupwiseLinear>(result, x, tiles, scales, columns, bias, addend, activation);
}

POLYSTATE_SHIM aoti_torch_cpu_groupwise_embedding(AtenTensorHandle ids, AtenTensorHandle tiles,
                                                  AtenTensorHandle scales, std::int64_t columns,
                                                  std::int64_t depth, AtenTensorHandle* result) {
  return call<GroupwiseEmbedding>(result, ids, tiles, scales, columns, depth);
}

POLYSTATE_SHIM aoti_torch_cpu_layer_norm(AtenTensorHandle x, AtenTensorHandle weight,
                                         AtenTensorHandle bias, double eps,
                                         AtenTensorHandle* result) {
  return call<LayerNorm>(result, x, weight, bias, eps);
}

POLYSTATE_SHIM aoti_torch_cpu_recurrence(AtenTensorHandle gates, AtenTensorHandle hidden,
                                         const AtenTensorHandle* cell, AtenTensorHandle tiles,
                                         const AtenTensorHandle* bias,
                                         const AtenTensorHandle* projection, const char* kind,
                                         std::int32_t reverse, AtenTensorHandle* result) {
  return call<Recurrence>(result, gates, hidden, cell, tiles, bias, projection, kind, reverse != 0);
}

POLYSTATE_SHIM aoti_torch_cpu_fft(AtenTensorHandle real, const AtenTensorHandle* imag,
                                  std::int64_t dim, std::int32_t inverse,
                                  std::int64_t normalization, AtenTensorHandle* result) {
  return call<Fft>(result, real, imag, dim, inverse != 0, normalization);
}

POLYSTATE_SHIM aoti_torch_cpu_real_fft(AtenTensorHandle x, std::int64_t dim,
                                       std::int64_t normalization, AtenTensorHandle* result) {
  return call<RealFft>(result, x, dim, normalization);
}

POLYSTATE_SHIM aoti_torch_cpu_inverse_real_fft(AtenTensorHandle real, AtenTensorHandle imag,
                                               std::int64_t dim, std::int64_t size,
                                               std::int64_t normalization,
                                               AtenTensorHandle* result) {
  return call<InverseRealFft>(result, real, imag, dim, size, normalization);
}

}  // extern "C"
// NOLINTEND(readability-function-size)

}  // namespace polystate
