#include "polystate/tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/staged_tokenizer.h"
#include "tokenizer/stages.h"

namespace polystate {
namespace {

// The inputs that a thread takes from a batch at a time.
constexpr std::size_t kChunk = 16;

std::size_t thread_count(const EncodeOptions& options, std::size_t inputs) {
  std::size_t threads = options.threads;
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return std::min(threads, (inputs + kChunk - 1) / kChunk);
}

Result<std::shared_ptr<const Tokenizer>> with_stages(Result<tokenizer::Stages> stages) {
  if (!stages) return stages.error();
  return tokenizer::StagedTokenizer::create(std::move(*stages));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::open(const std::filesystem::path& path,
                                                         const TokenizerOptions& options) {
  return with_stages(tokenizer::open_tokenizer(path, options));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(TokenizerFormat format,
                                                          std::string_view content,
                                                          const TokenizerOptions& options) {
  return with_stages(tokenizer::parse_tokenizer(format, content, options));
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(std::span<const EncodeInput> inputs,
                                                      const EncodeOptions& options) const {
  std::vector<std::optional<Result<Encoding>>> results(inputs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    while (true) {
      const std::size_t begin = next.fetch_add(kChunk);
      if (begin >= inputs.size()) return;
      for (std::size_t i = begin; i < std::min(begin + kChunk, inputs.size()); ++i)
        results[i].emplace(encode(inputs[i], options));
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < thread_count(options, inputs.size()); ++i)
      others.emplace_back(work);
    work();
  }
  std::vector<Encoding> encodings;
  encodings.reserve(inputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!*results[i]) {
      const Error& error = results[i]->error();
      return Error{error.code, "input " + std::to_string(i) + ": " + error.message};
    }
    encodings.push_back(std::move(**results[i]));
  }
  return encodings;
}

}  // namespace polystate
