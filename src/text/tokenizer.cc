#include "polystate/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/text/decode_stream.h"
#include "polystate/text/encoding.h"
#include "text/decoder.h"
#include "text/loaders/loaders.h"
#include "text/pipeline.h"

namespace polystate {
namespace {

// The texts that a thread takes from a batch at a time.
constexpr std::size_t kChunk = 16;

std::size_t thread_count(const EncodeOptions& options, std::size_t texts) {
  std::size_t threads = options.threads;
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return std::min(threads, (texts + kChunk - 1) / kChunk);
}

}  // namespace

Result<Tokenizer> Tokenizer::open(const std::filesystem::path& path,
                                  const TokenizerOptions& options) {
  Result<text::PipelineParts> parts = text::open_tokenizer(path, options);
  if (!parts) return parts.error();
  Result<std::shared_ptr<const text::Pipeline>> pipeline =
      text::Pipeline::create(std::move(*parts));
  if (!pipeline) return pipeline.error();
  return Tokenizer(std::move(*pipeline));
}

Result<Tokenizer> Tokenizer::parse(TokenizerFormat format, std::string_view content,
                                   const TokenizerOptions& options) {
  Result<text::PipelineParts> parts = text::parse_tokenizer(format, content, options);
  if (!parts) return parts.error();
  Result<std::shared_ptr<const text::Pipeline>> pipeline =
      text::Pipeline::create(std::move(*parts));
  if (!pipeline) return pipeline.error();
  return Tokenizer(std::move(*pipeline));
}

Result<Encoding> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return pipeline_->encode({&text, 1}, options);
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                        const EncodeOptions& options) const {
  const std::array<std::string_view, 2> texts = {first, second};
  return pipeline_->encode(texts, options);
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                                      const EncodeOptions& options) const {
  std::vector<std::optional<Result<Encoding>>> results(texts.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    while (true) {
      const std::size_t begin = next.fetch_add(kChunk);
      if (begin >= texts.size()) return;
      for (std::size_t i = begin; i < std::min(begin + kChunk, texts.size()); ++i)
        results[i].emplace(encode(texts[i], options));
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < thread_count(options, texts.size()); ++i) others.emplace_back(work);
    work();
  }
  std::vector<Encoding> encodings;
  encodings.reserve(texts.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!*results[i]) {
      const Error& error = results[i]->error();
      return Error{error.code, "text " + std::to_string(i) + ": " + error.message};
    }
    encodings.push_back(std::move(**results[i]));
  }
  pipeline_->pad_batch(encodings);
  return encodings;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids,
                                      const DecodeOptions& options) const {
  const std::unique_ptr<text::DecodeChain> chain = pipeline_->decode_chain();
  for (const TokenId id : ids) {
    const Status done = pipeline_->decode(id, options.skip_special_tokens, *chain);
    if (!done) return done.error();
  }
  chain->finish();
  return chain->take();
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view token) const {
  return pipeline_->token_to_id(token);
}

std::optional<std::string> Tokenizer::id_to_token(TokenId id) const {
  return pipeline_->id_to_token(id);
}

std::size_t Tokenizer::vocabulary_size() const { return pipeline_->id_limit(); }

bool Tokenizer::is_special(TokenId id) const { return pipeline_->is_special(id); }

const std::vector<std::string>& Tokenizer::warnings() const { return pipeline_->warnings(); }

struct DecodeStream::State {
  std::shared_ptr<const text::Pipeline> pipeline;
  bool skip_special_tokens;
  std::unique_ptr<text::DecodeChain> chain;
};

DecodeStream::DecodeStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

Result<std::string> DecodeStream::push(TokenId id) {
  const Status done = state_->pipeline->decode(id, state_->skip_special_tokens, *state_->chain);
  if (!done) return done.error();
  return state_->chain->take();
}

Result<std::string> DecodeStream::finish() {
  state_->chain->finish();
  return state_->chain->take();
}

DecodeStream Tokenizer::decode_stream(const DecodeOptions& options) const {
  auto state = std::make_unique<DecodeStream::State>();
  state->pipeline = pipeline_;
  state->skip_special_tokens = options.skip_special_tokens;
  state->chain = pipeline_->decode_chain();
  return DecodeStream(std::move(state));
}

}  // namespace polystate
