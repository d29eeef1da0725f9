#pragma once

#include <executorch/runtime/core/evalue.h>

#include <span>

#include "polystate/core/result.h"

namespace polystate {

// The values of one call, as the program lists them: the arguments of the operator's schema (an
// `out` among them), then the result, which is the same value as `out`, or as the first argument of
// an operator that works in place.
using KernelStack = std::span<executorch::runtime::EValue* const>;

// Operators of this project's own. python/polystate/ops has the schema and the meaning of each. A
// failing operator has written nothing; a check that does not hold leaves a CheckFailure too.
struct CheckRange {
  static constexpr const char* kName = "polystate::check_range.out";
  static Status run(KernelStack stack);  // x, value, low, high, id, out
};

struct CheckTrue {
  static constexpr const char* kName = "polystate::check.out";
  static Status run(KernelStack stack);  // x, ok, id, out
};

struct CheckSize {
  static constexpr const char* kName = "polystate::check_size.out";
  static Status run(KernelStack stack);  // x, value, low, high, id, out
};

struct SliceScatter {
  static constexpr const char* kName = "polystate::slice_scatter_";
  static Status run(KernelStack stack);  // self, src, dim, start, end, step
};

struct SelectScatter {
  static constexpr const char* kName = "polystate::select_scatter_";
  static Status run(KernelStack stack);  // self, src, dim, index
};

struct IndexCopy {
  static constexpr const char* kName = "polystate::index_copy_";
  static Status run(KernelStack stack);  // self, dim, index, source
};

struct IndexPut {
  static constexpr const char* kName = "polystate::index_put_";
  static Status run(KernelStack stack);  // self, indices, values, accumulate
};

struct PagedAttention {
  static constexpr const char* kName = "polystate::paged_attention.out";
  // query, key, value, key_pool, value_pool, page_table, positions, bias, sinks, scale, softcap,
  // window, out
  static Status run(KernelStack stack);
};

struct CrossAttention {
  static constexpr const char* kName = "polystate::cross_attention.out";
  // query, key_pool, value_pool, page_table, lengths, bias, scale, softcap, out
  static Status run(KernelStack stack);
};

struct DenseAttention {
  static constexpr const char* kName = "polystate::attention.out";
  // query, key, value, lengths, bias, sinks, scale, softcap, window, causal, out
  static Status run(KernelStack stack);
};

struct WritePages {
  static constexpr const char* kName = "polystate::write_pages.out";
  // key, value, key_pool, value_pool, page_table, lengths, out
  static Status run(KernelStack stack);
};

struct CopyPages {
  static constexpr const char* kName = "polystate::copy_pages.out";
  static Status run(KernelStack stack);  // key_pool, value_pool, source, target, out
};

struct PackedLinear {
  static constexpr const char* kName = "polystate::packed_linear.out";
  static Status run(KernelStack stack);  // x, tiles, columns, bias, addend, activation, out
};

struct PackedEmbedding {
  static constexpr const char* kName = "polystate::packed_embedding.out";
  static Status run(KernelStack stack);  // ids, tiles, columns, out
};

struct QuantizedLinear {
  static constexpr const char* kName = "polystate::quantized_linear.out";
  // x, tiles, scales, sums, bias, addend, activation, out
  static Status run(KernelStack stack);
};

struct QuantizedEmbedding {
  static constexpr const char* kName = "polystate::quantized_embedding.out";
  static Status run(KernelStack stack);  // ids, tiles, scales, depth, out
};

struct LayerNorm {
  static constexpr const char* kName = "polystate::layer_norm.out";
  static Status run(KernelStack stack);  // x, weight, bias, eps, out
};

}  // namespace polystate
