#pragma once

#include "kernels/arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// Operators of this project's own that every engine has, in the form that fills a given result.
// python/polystate/ops has the meaning of each. A failing operator has written nothing.
struct PagedAttention {
  static constexpr OperatorSchema kSchema{
      "polystate::paged_attention.out(Tensor query, Tensor key, Tensor value, "
      "Tensor(a!) key_pool, Tensor(b!) value_pool, Tensor page_table, Tensor positions, "
      "Tensor rows, Tensor? bias, Tensor? sinks, float scale, float softcap, int window, *, "
      "Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct CrossAttention {
  static constexpr OperatorSchema kSchema{
      "polystate::cross_attention.out(Tensor query, Tensor key_pool, Tensor value_pool, "
      "Tensor cross_table, Tensor lengths, Tensor rows, Tensor? bias, float scale, "
      "float softcap, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct DenseAttention {
  static constexpr OperatorSchema kSchema{
      "polystate::attention.out(Tensor query, Tensor key, Tensor value, Tensor? lengths, "
      "Tensor? bias, Tensor? sinks, float scale, float softcap, int window, bool causal, "
      "*, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct WritePages {
  static constexpr OperatorSchema kSchema{
      "polystate::write_pages.out(Tensor key, Tensor value, Tensor(a!) key_pool, "
      "Tensor(b!) value_pool, Tensor page_table, Tensor lengths, *, Tensor(z!) out) "
      "-> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct CopyPages {
  static constexpr OperatorSchema kSchema{
      "polystate::copy_pages.out(Tensor(a!) key_pool, Tensor(b!) value_pool, "
      "Tensor source, Tensor target, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct PackedLinear {
  static constexpr OperatorSchema kSchema{
      "polystate::packed_linear.out(Tensor x, Tensor tiles, int columns, Tensor? bias, "
      "Tensor? addend=None, str activation=\"none\", *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct PackedEmbedding {
  static constexpr OperatorSchema kSchema{
      "polystate::packed_embedding.out(Tensor ids, Tensor tiles, int columns, *, "
      "Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct QuantizedLinear {
  static constexpr OperatorSchema kSchema{
      "polystate::quantized_linear.out(Tensor x, Tensor tiles, Tensor scales, Tensor sums, "
      "Tensor? bias, Tensor? addend=None, str activation=\"none\", *, Tensor(z!) out) "
      "-> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct QuantizedEmbedding {
  static constexpr OperatorSchema kSchema{
      "polystate::quantized_embedding.out(Tensor ids, Tensor tiles, Tensor scales, "
      "int depth, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct GroupwiseLinear {
  static constexpr OperatorSchema kSchema{
      "polystate::groupwise_linear.out(Tensor x, Tensor tiles, Tensor scales, int columns, "
      "Tensor? bias, Tensor? addend=None, str activation=\"none\", *, Tensor(z!) out) "
      "-> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct GroupwiseEmbedding {
  static constexpr OperatorSchema kSchema{
      "polystate::groupwise_embedding.out(Tensor ids, Tensor tiles, Tensor scales, int columns, "
      "int depth, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct LayerNorm {
  static constexpr OperatorSchema kSchema{
      "polystate::layer_norm.out(Tensor x, Tensor weight, Tensor bias, float eps, *, "
      "Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct Recurrence {
  static constexpr OperatorSchema kSchema{
      "polystate::recurrence.out(Tensor gates, Tensor hidden, Tensor? cell, Tensor tiles, "
      "Tensor? bias, Tensor? projection, str kind, bool reverse, *, Tensor(z!) out) "
      "-> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct Fft {
  static constexpr OperatorSchema kSchema{
      "polystate::fft.out(Tensor real, Tensor? imag, int dim, bool inverse, int normalization, *, "
      "Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct RealFft {
  static constexpr OperatorSchema kSchema{
      "polystate::real_fft.out(Tensor x, int dim, int normalization, *, Tensor(z!) out) "
      "-> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

struct InverseRealFft {
  static constexpr OperatorSchema kSchema{
      "polystate::inverse_real_fft.out(Tensor real, Tensor imag, int dim, SymInt size, "
      "int normalization, *, Tensor(z!) out) -> Tensor(z!)"};
  static Status run(Arguments& arguments);
};

}  // namespace polystate
