#include "runner/model/token_model.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/session/model.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_table.h"
#include "runner/model/cache_content.h"
#include "runner/model/limits.h"
#include "runner/model/method_session.h"
#include "runner/model/tables.h"

namespace polystate {

TokenModel::TokenModel(const Model& model, MethodSession session, const ModelLimits& limits)
    : model_(model),
      session_(std::move(session)),
      limits_(limits),
      pools_(limits.kinds, limits.page_size),
      prefixes_(pools_),
      content_(model.manifest(), session_, limits.kinds.size()),
      copies_(limits.kinds.size()),
      page_tables_(limits.kinds.size()) {
  if (limits.sources) encoder_.emplace(session_, limits.page_size, *limits.sources);
}

Result<std::unique_ptr<TokenModel>> TokenModel::open(const Model& model,
                                                     const SessionOptions& options) {
  const auto limits = ModelLimits::read(model.manifest());
  if (!limits) return limits.error();
  Result<MethodSession> session = MethodSession::open(model, options);
  if (!session) return session.error();
  return std::unique_ptr<TokenModel>(new TokenModel(model, std::move(session).value(), *limits));
}

Result<Tensor> TokenModel::forward(std::span<const StepRow> rows) {
  if (const Status read = read_rows(rows); !read) return read.error();
  const auto wanted = std::ssize(wanted_);
  if (wanted == 0) wanted_.push_back(0);  // the method gives logits of one token at least
  std::vector<NamedTensor> inputs = {
      {"input_ids", as_vector(ids_)}, {"positions", as_vector(positions_)},
      {"rows", as_vector(rows_)},     {"page_table", as_matrix(page_tables_.front(), rows.size())},
      {"wanted", as_vector(wanted_)}, {"counted", as_vector(counted_)}};
  if (page_tables_.size() > 1) {
    inputs.push_back({"window_table", as_matrix(page_tables_.back(), rows.size())});
  }
  if (encoder_) {
    inputs.push_back({"cross_table", as_matrix(cross_table_, rows.size())});
    inputs.push_back({"cross_lengths", as_vector(cross_lengths_)});
  }
  Result<std::vector<Tensor>> outputs = session_.run("forward", inputs);
  if (!outputs) {
    prefixes_.clear();
    return outputs.error();
  }
  const Tensor logits = std::move(outputs->front());
  const Shape expected = {std::ssize(wanted_), limits_.vocabulary_size};
  if (logits.dtype() != DType::kFloat32 || logits.shape() != expected || !logits.writable()) {
    return Error{ErrorCode::kArtifact,
                 "method 'forward' returned " + std::string(name_of(logits.dtype())) + " " +
                     to_string(logits.shape()) + "; logits are float32 " + to_string(expected)};
  }
  return wanted > 0 ? logits : Tensor::empty(DType::kFloat32, {0, limits_.vocabulary_size});
}

CachedSequence TokenModel::new_sequence(std::span<const TokenId> tokens) {
  return encoder_ ? new_sequence() : prefixes_.find(tokens);
}

void TokenModel::keep_prefix(std::span<const TokenId> tokens, const CachedSequence& sequence) {
  if (!encoder_) prefixes_.keep(tokens, sequence);
}

Status TokenModel::read_rows(std::span<const StepRow> rows) {
  assert(!rows.empty() && std::ssize(rows) <= limits_.max_sequences);
  for (auto* input : {&ids_, &positions_, &rows_, &cross_lengths_, &wanted_, &counted_}) {
    input->clear();
  }
  appends_.clear();
  cross_tables_.clear();
  for (const StepRow& row : rows) {
    read_tokens(row, std::ssize(appends_));
    appends_.push_back({row.sequence, std::ssize(row.tokens)});
    if (encoder_) {
      cross_tables_.push_back(&row.source->pages);
      cross_lengths_.push_back(row.source->pages.length());
    }
  }
  assert(std::ssize(ids_) <= limits_.max_step_tokens);
  assert(std::ssize(wanted_) <= limits_.max_wanted);
  if (Status appended = append_to_sequences(appends_, copies_); !appended) return appended;
  lay_out(cross_tables_, cross_table_);
  for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
    tables_.clear();
    for (const StepRow& row : rows) tables_.push_back(&row.sequence->tables()[kind]);
    lay_out(tables_, page_tables_[kind]);
    const Status copied = copy_pages(copy_method(kind), copies_[kind]);
    if (!copied) return copied;
  }
  return {};
}

void TokenModel::read_tokens(const StepRow& row, std::int64_t number) {
  const std::int64_t length = row.sequence->length();
  assert(!row.tokens.empty() && length + std::ssize(row.tokens) <= limits_.max_length);
  const auto is_uncounted = [this](TokenId token) { return token == limits_.uncounted; };
  std::int64_t uncounted = 0;  // of the prompt, before the present token
  if (length < std::ssize(row.prompt)) {
    uncounted =
        std::ranges::count_if(row.prompt.first(static_cast<std::size_t>(length)), is_uncounted);
  }
  for (std::int64_t position = length; const TokenId token : row.tokens) {
    // Behind the prompt, transformers counts every token of the cache.
    if (position >= std::ssize(row.prompt)) uncounted = 0;
    ids_.push_back(token);
    positions_.push_back(position);
    rows_.push_back(number);
    counted_.push_back(position - uncounted);
    if (is_uncounted(token)) ++uncounted;
    ++position;
  }
  assert(row.wanted <= row.tokens.size());
  for (std::size_t i = row.wanted; i > 0; --i) {
    wanted_.push_back(std::ssize(ids_) - static_cast<std::int64_t>(i));
  }
}

Status TokenModel::copy_pages(std::string_view method, std::span<const PageCopy> copies) {
  if (copies.empty()) return {};
  copy_sources_.clear();
  copy_targets_.clear();
  for (const PageCopy& copy : copies) {
    copy_sources_.push_back(copy.source);
    copy_targets_.push_back(copy.target);
  }
  const std::array<NamedTensor, 2> inputs = {
      {{"source", as_vector(copy_sources_)}, {"target", as_vector(copy_targets_)}}};
  if (const auto done = session_.run(method, inputs); !done) {
    prefixes_.clear();
    return done.error();
  }
  return {};
}

}  // namespace polystate
