#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/session/model.h"
#include "runner/cache/cache_pools.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"
#include "runner/cache/prefix_index.h"
#include "runner/model/cache_content.h"
#include "runner/model/limits.h"
#include "runner/model/method_session.h"
#include "runner/model/source_encoder.h"

namespace polystate {

// What a step reads of one sequence.
struct StepRow {
  std::span<const TokenId> tokens;  // one or more, which follow what it has read
  CachedSequence* sequence;         // grows by their positions
  const EncodedSource* source;      // what it sees; null where the model encodes no sources
  std::span<const TokenId> prompt;  // what the sequence begins with
  std::size_t wanted;               // after how many of the last `tokens` logits are wanted
};

// An artifact's methods over caches of their own, as calls in tokens. It owns a session and the
// pools that say which pages of its sequences' caches are in use; where the artifact has the method
// `encode`, a SourceEncoder. A step is a list of the tokens of all its sequences:
//
//   forward(input_ids [tokens], positions [tokens], rows [tokens], page_table [sequences, n],
//           cross_table [sequences, k]?, cross_lengths [sequences]?, wanted [m],
//           counted [tokens]?, window_table [sequences, n]?) -> logits [m, vocabulary]
//   copy_pages(source [copies], target [copies]) -> ()
//   copy_window_pages(source [copies], target [copies]) -> ()?
//
// `rows` has each token's sequence, `wanted` the tokens whose logits are given. `counted`, of
// models whose positions in a prompt leave out padding, are the tokens before each that they count.
// `window_table` is of layers that see a window, where others see all: they are a kind of caches
// of their own, the second one.
// What a table has no page for is 0: the methods neither read nor write it. After a failure all
// state is as at first, and what was encoded before is not valid any more.
class TokenModel {
 public:
  // kArtifact as ModelLimits::read, and as Model::new_session.
  static Result<std::unique_ptr<TokenModel>> open(const Model& model,
                                                  const SessionOptions& options = {});
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  ~TokenModel() = default;

  // Reads the tokens of 1 to max_sequences rows, each of another sequence that stays within
  // max_length positions: at most max_step_tokens in all. The logits after the tokens that want
  // them, in their order [wanted, vocabulary]; at most max_wanted. The caller may
  // overwrite them; they are gone with the next call. kEngine when the pool has too few pages.
  Result<Tensor> forward(std::span<const StepRow> rows);

  // Null where the model encodes no sources.
  [[nodiscard]] SourceEncoder* encoder() { return encoder_ ? &*encoder_ : nullptr; }

  // Model::parallel_for.
  void parallel_for(std::size_t count, const std::function<void(std::size_t index)>& task) const {
    model_.parallel_for(count, task);
  }

  // An empty sequence.
  [[nodiscard]] CachedSequence new_sequence() { return pools_.new_sequence(); }

  // A sequence that has read the first of these tokens, as many as are known: sequences that begin
  // with the same tokens share pages. Empty where the model encodes sources, which what is read
  // depends on.
  [[nodiscard]] CachedSequence new_sequence(std::span<const TokenId> tokens);
  // Has later sequences share the pages of one that has read these tokens, and maybe more.
  void keep_prefix(std::span<const TokenId> tokens, const CachedSequence& sequence);

  // What the sequences' caches have in their pages.
  [[nodiscard]] CacheContent& content() { return content_; }

  [[nodiscard]] const ModelLimits& limits() const { return limits_; }
  [[nodiscard]] const PagePool& pool(std::size_t kind) const { return pools_.pool(kind); }

 private:
  TokenModel(const Model& model, MethodSession session, const ModelLimits& limits);

  // Makes the inputs of `forward` from the rows, and lets their sequences grow.
  Status read_rows(std::span<const StepRow> rows);
  // Appends a row's tokens to the inputs.
  void read_tokens(const StepRow& row, std::int64_t number);
  // Copies whole pages of a kind of the sequences' caches, by its method.
  Status copy_pages(std::string_view method, std::span<const PageCopy> copies);

  Model model_;
  MethodSession session_;
  ModelLimits limits_;
  CachePools pools_;
  PrefixIndex prefixes_;
  CacheContent content_;
  std::optional<SourceEncoder> encoder_;

  // Inputs of the calls, kept for the next.
  std::vector<SequenceAppend> appends_;
  std::vector<std::vector<PageCopy>> copies_;  // of each kind
  std::vector<const PageTable*> tables_;
  std::vector<const PageTable*> cross_tables_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> positions_;
  std::vector<std::int64_t> rows_;
  std::vector<std::vector<std::int64_t>> page_tables_;  // of each kind
  std::vector<std::int64_t> cross_table_;
  std::vector<std::int64_t> cross_lengths_;
  std::vector<std::int64_t> wanted_;
  std::vector<std::int64_t> counted_;
  std::vector<std::int64_t> copy_sources_;
  std::vector<std::int64_t> copy_targets_;
};

}  // namespace polystate
