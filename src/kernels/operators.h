#pragma once

#include <cstddef>

#include "kernels/arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// Operators of this project's own that every engine has. python/polystate/ops has the schema and
// the meaning of each; here stand the name of the form that fills a given result, the count of its
// arguments, the result among them, and which they are but for that one. A failing operator has
// written nothing.
struct PagedAttention {
  static constexpr const char* kName = "polystate::paged_attention.out";
  static constexpr std::size_t kArguments = 14;
  // query, key, value, key_pool, value_pool, page_table, positions, rows, bias, sinks, scale,
  // softcap, window
  static Status run(Arguments& arguments);
};

struct CrossAttention {
  static constexpr const char* kName = "polystate::cross_attention.out";
  static constexpr std::size_t kArguments = 10;
  // query, key_pool, value_pool, cross_table, lengths, rows, bias, scale, softcap
  static Status run(Arguments& arguments);
};

struct DenseAttention {
  static constexpr const char* kName = "polystate::attention.out";
  static constexpr std::size_t kArguments = 11;
  // query, key, value, lengths, bias, sinks, scale, softcap, window, causal
  static Status run(Arguments& arguments);
};

struct WritePages {
  static constexpr const char* kName = "polystate::write_pages.out";
  static constexpr std::size_t kArguments = 7;
  // key, value, key_pool, value_pool, page_table, lengths
  static Status run(Arguments& arguments);
};

struct CopyPages {
  static constexpr const char* kName = "polystate::copy_pages.out";
  static constexpr std::size_t kArguments = 5;
  static Status run(Arguments& arguments);  // key_pool, value_pool, source, target
};

struct PackedLinear {
  static constexpr const char* kName = "polystate::packed_linear.out";
  static constexpr std::size_t kArguments = 7;
  static Status run(Arguments& arguments);  // x, tiles, columns, bias, addend, activation
};

struct PackedEmbedding {
  static constexpr const char* kName = "polystate::packed_embedding.out";
  static constexpr std::size_t kArguments = 4;
  static Status run(Arguments& arguments);  // ids, tiles, columns
};

struct QuantizedLinear {
  static constexpr const char* kName = "polystate::quantized_linear.out";
  static constexpr std::size_t kArguments = 8;
  static Status run(Arguments& arguments);  // x, tiles, scales, sums, bias, addend, activation
};

struct QuantizedEmbedding {
  static constexpr const char* kName = "polystate::quantized_embedding.out";
  static constexpr std::size_t kArguments = 5;
  static Status run(Arguments& arguments);  // ids, tiles, scales, depth
};

struct LayerNorm {
  static constexpr const char* kName = "polystate::layer_norm.out";
  static constexpr std::size_t kArguments = 5;
  static Status run(Arguments& arguments);  // x, weight, bias, eps
};

struct Recurrence {
  static constexpr const char* kName = "polystate::recurrence.out";
  static constexpr std::size_t kArguments = 9;
  // gates, hidden, cell, tiles, bias, projection, kind, reverse
  static Status run(Arguments& arguments);
};

}  // namespace polystate
