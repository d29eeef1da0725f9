#include "runner/encoder_decoder.h"

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
#include "polystate/session/session.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/page_pool.h"
#include "runner/page_table.h"

namespace polystate {
namespace {

// Borrows `values` as an int64 tensor of `rows` rows.
Tensor as_matrix(std::vector<std::int64_t>& values, std::size_t rows) {
  const auto columns = static_cast<std::int64_t>(values.size() / rows);
  return Tensor::borrow(DType::kInt64, {static_cast<std::int64_t>(rows), columns}, values.data())
      .value();
}

Tensor as_vector(std::vector<std::int64_t>& values) {
  return Tensor::borrow(DType::kInt64, {static_cast<std::int64_t>(values.size())}, values.data())
      .value();
}

// Makes `matrix` the tables `table_of(row)` of all `rows`, padded with 0.
template <typename TableOf>
void lay_out(std::size_t rows, const TableOf& table_of, std::vector<std::int64_t>& matrix) {
  std::size_t columns = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    columns = std::max(columns, table_of(row).pages().size());
  }
  matrix.assign(rows * columns, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto pages = table_of(row).pages();
    std::copy(pages.begin(), pages.end(),
              matrix.begin() + static_cast<std::ptrdiff_t>(row * columns));
  }
}

}  // namespace

EncoderDecoder::EncoderDecoder(const Model& model, Session session,
                               const EncoderDecoderLimits& limits)
    : model_(model),
      session_(std::move(session)),
      limits_(limits),
      pool_(limits.pages),
      cross_pool_(limits.cross_pages) {}

Result<std::unique_ptr<EncoderDecoder>> EncoderDecoder::open(const Model& model,
                                                             const SessionOptions& options) {
  const auto limits = EncoderDecoderLimits::read(model.manifest());
  if (!limits) return limits.error();
  Result<Session> session = model.new_session(options);
  if (!session) return session.error();
  return std::unique_ptr<EncoderDecoder>(
      new EncoderDecoder(model, std::move(session).value(), *limits));
}

Status EncoderDecoder::run(std::string_view method, std::span<const Tensor> inputs) {
  Result<std::vector<Tensor>> outputs = session_.run_borrowing(method, inputs);
  if (outputs) {
    outputs_ = std::move(outputs).value();
    return {};
  }
  // No sequence outlives a failure, so that nothing is lost.
  if (Status reset = session_.reset(); !reset) return reset;
  return outputs.error();
}

Result<std::vector<EncodedSource>> EncoderDecoder::encode(
    std::span<const std::span<const TokenId>> sources, TokenId pad) {
  std::vector<EncodedSource> encoded;
  encoded.reserve(sources.size());
  std::size_t longest = 0;
  for (const auto source : sources) {
    EncodedSource& next = encoded.emplace_back(PageTable(cross_pool_, limits_.page_size));
    const Status filled = next.pages.fill(static_cast<std::int64_t>(source.size()));
    if (!filled) return filled.error();
    longest = std::max(longest, source.size());
  }
  ids_.assign(sources.size() * longest, static_cast<std::int64_t>(pad));
  lengths_.clear();
  for (std::size_t row = 0; row < sources.size(); ++row) {
    std::copy(sources[row].begin(), sources[row].end(),
              ids_.begin() + static_cast<std::ptrdiff_t>(row * longest));
    lengths_.push_back(static_cast<std::int64_t>(sources[row].size()));
  }
  lay_out(
      encoded.size(), [&](std::size_t row) -> const PageTable& { return encoded[row].pages; },
      cross_table_);
  const std::array inputs = {as_matrix(ids_, sources.size()), as_vector(lengths_),
                             as_matrix(cross_table_, sources.size())};
  if (const Status done = run("encode", inputs); !done) return done.error();
  return encoded;
}

Result<Tensor> EncoderDecoder::decode(std::span<const DecoderRow> rows) {
  sequences_.clear();
  ids_.clear();
  lengths_.clear();
  cross_lengths_.clear();
  counted_.clear();
  for (const DecoderRow& row : rows) {
    assert(row.sequence->length() < limits_.max_length);
    sequences_.push_back(row.sequence);
    ids_.push_back(row.token);
    lengths_.push_back(row.sequence->length());  // the position of the token
    cross_lengths_.push_back(row.source->pages.length());
    counted_.push_back(counted_before(row));
  }
  if (const Status appended = append_position(sequences_, copies_); !appended) {
    return appended.error();
  }
  if (const Status copied = copy_pages(copies_); !copied) return copied.error();
  lay_out(
      rows.size(), [&](std::size_t row) -> const PageTable& { return *rows[row].sequence; },
      page_table_);
  lay_out(
      rows.size(), [&](std::size_t row) -> const PageTable& { return rows[row].source->pages; },
      cross_table_);
  const std::array inputs = {
      as_matrix(ids_, rows.size()),        as_vector(lengths_),
      as_matrix(page_table_, rows.size()), as_matrix(cross_table_, rows.size()),
      as_vector(cross_lengths_),           as_vector(counted_)};
  const std::size_t taken = limits_.uncounted ? inputs.size() : inputs.size() - 1;
  if (const Status done = run("decode", std::span(inputs).first(taken)); !done) return done.error();
  Tensor logits = std::move(outputs_.front());
  outputs_.clear();
  const Shape expected = {static_cast<std::int64_t>(rows.size()), limits_.vocabulary_size};
  if (logits.dtype() != DType::kFloat32 || logits.shape() != expected || !logits.writable()) {
    return Error{ErrorCode::kArtifact,
                 "method 'decode' returned " + std::string(name_of(logits.dtype())) + " " +
                     to_string(logits.shape()) + "; logits are float32 " + to_string(expected)};
  }
  return logits;
}

std::int64_t EncoderDecoder::counted_before(const DecoderRow& row) const {
  const std::int64_t length = row.sequence->length();
  // Behind the prompt, transformers counts every token of the cache.
  if (!limits_.uncounted || length >= std::ssize(row.prompt)) return length;
  const auto before = row.prompt.first(static_cast<std::size_t>(length));
  return length - std::ranges::count(before, *limits_.uncounted);
}

Status EncoderDecoder::copy_pages(std::span<const PageCopy> copies) {
  if (copies.empty()) return {};
  std::vector<std::int64_t>& sources = page_table_;
  std::vector<std::int64_t>& targets = cross_table_;
  sources.clear();
  targets.clear();
  for (const PageCopy& copy : copies) {
    sources.push_back(copy.source);
    targets.push_back(copy.target);
  }
  const std::array inputs = {as_vector(sources), as_vector(targets)};
  return run("copy_pages", inputs);
}

}  // namespace polystate
