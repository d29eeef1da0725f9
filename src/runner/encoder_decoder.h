#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/page_pool.h"
#include "runner/page_table.h"

namespace polystate {

// A source that was encoded: where the decoder finds what it sees of it.
struct EncodedSource {
  PageTable pages;
};

// What one row of the decoder reads.
struct DecoderRow {
  TokenId token;
  PageTable* sequence;              // grows by the position of `token`
  const EncodedSource* source;      // of its sentence
  std::span<const TokenId> prompt;  // what its sequence begins with
};

// An artifact's encoder and decoder with caches of their own: its methods as calls in tokens. It
// owns a session and the pools that say which pages of its caches are in use.
//
//   encode(input_ids [batch, source], lengths [batch], cross_table [batch, m]) -> ()
//   decode(input_ids [rows, 1], positions [rows], page_table [rows, n], cross_table [rows, m],
//          cross_lengths [rows], counted [rows]?) -> logits [rows, vocabulary]
//   copy_pages(source [k], target [k]) -> ()
//
// `counted`, of models whose positions in a prompt leave out padding, are the tokens before each
// row's that they count. What a table has no page for is 0: the methods neither read nor write it.
// After a failure all state is as at first, and what was encoded before is of no use.
class EncoderDecoder {
 public:
  // kArtifact as EncoderDecoderLimits::read, and as Model::new_session.
  static Result<std::unique_ptr<EncoderDecoder>> open(const Model& model,
                                                      const SessionOptions& options = {});

  // Encodes sources together, padded to the longest with `pad`; at most max_sources, each of 1 to
  // max_source_length tokens. kEngine when the pool has too few pages.
  Result<std::vector<EncodedSource>> encode(std::span<const std::span<const TokenId>> sources,
                                            TokenId pad);

  // Reads one token in each of 1 to max_batch rows, each of another sequence with less than
  // max_length positions. The logits of the next tokens [rows, vocabulary], which the caller may
  // overwrite; they are gone with the next call.
  Result<Tensor> decode(std::span<const DecoderRow> rows);

  // Model::parallel_for.
  void parallel_for(std::size_t count, const std::function<void(std::size_t index)>& task) const {
    model_.parallel_for(count, task);
  }

  // An empty sequence.
  [[nodiscard]] PageTable new_sequence() { return {pool_, limits_.page_size}; }

  [[nodiscard]] const EncoderDecoderLimits& limits() const { return limits_; }
  [[nodiscard]] const PagePool& pool() const { return pool_; }
  [[nodiscard]] const PagePool& cross_pool() const { return cross_pool_; }

 private:
  EncoderDecoder(const Model& model, Session session, const EncoderDecoderLimits& limits);

  // Runs a method; its outputs are in outputs_.
  Status run(std::string_view method, std::span<const Tensor> inputs);
  // Tokens before the row's next one that the model's positions count.
  [[nodiscard]] std::int64_t counted_before(const DecoderRow& row) const;
  // Copies whole pages of the decoder's caches.
  Status copy_pages(std::span<const PageCopy> copies);

  Model model_;
  Session session_;
  EncoderDecoderLimits limits_;
  PagePool pool_;
  PagePool cross_pool_;

  std::vector<Tensor> outputs_;  // of the last call

  // Inputs of the calls, kept for the next.
  std::vector<PageTable*> sequences_;
  std::vector<PageCopy> copies_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> page_table_;
  std::vector<std::int64_t> cross_table_;
  std::vector<std::int64_t> cross_lengths_;
  std::vector<std::int64_t> counted_;
};

}  // namespace polystate
