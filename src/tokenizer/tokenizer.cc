#include "polystate/tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/core/named_files.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/staged_tokenizer.h"
#include "tokenizer/stages.h"

namespace polystate {
namespace {

std::size_t thread_count(const EncodeOptions& options, std::size_t inputs) {
  const std::size_t wanted =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  return std::min(wanted, inputs);
}

// The inputs that a thread takes from a batch at a time: several turns each, as texts differ.
std::size_t chunk_size(std::size_t inputs, std::size_t threads) {
  constexpr std::size_t kMost = 16;
  return std::clamp<std::size_t>(inputs / (4 * std::max<std::size_t>(threads, 1)), 1, kMost);
}

Result<std::shared_ptr<const Tokenizer>> with_stages(Result<tokenizer::Stages> stages) {
  if (!stages) return stages.error();
  return tokenizer::StagedTokenizer::create(std::move(*stages));
}

// Calls work() on this thread and on up to `count` - 1 others, as many as the system gives.
template <typename Work>
void work_on_threads(std::size_t count, const Work& work) {
  std::vector<std::jthread> others;
  while (others.size() + 1 < count) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // there is a limit on threads: those that there are do all the work
    }
  }
  work();
}

Result<std::vector<Encoding>> all_or_first_error(std::vector<Result<Encoding>> results) {
  std::vector<Encoding> encodings;
  encodings.reserve(results.size());
  for (Result<Encoding>& result : results) {
    if (!result) {
      return Error{result.error().code,
                   "input " + std::to_string(encodings.size()) + ": " + result.error().message};
    }
    encodings.push_back(std::move(*result));
  }
  return encodings;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::open(const std::filesystem::path& path,
                                                         const TokenizerOptions& options) {
  return or_out_of_memory("open", path.native(),
                          [&] { return with_stages(tokenizer::open_tokenizer(path, options)); });
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::open(const NamedFiles& files,
                                                         const TokenizerOptions& options) {
  return or_out_of_memory("open", files.place().native(),
                          [&] { return with_stages(tokenizer::open_tokenizer(files, options)); });
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(TokenizerFormat format,
                                                          std::string_view content,
                                                          const TokenizerOptions& options) {
  return or_out_of_memory("read a tokenizer", "", [&] {
    return with_stages(tokenizer::parse_tokenizer(format, content, options));
  });
}

Result<std::vector<Encoding>> Tokenizer::encode_batch(std::span<const EncodeInput> inputs,
                                                      const EncodeOptions& options) const {
  constexpr std::string_view kWhat = "encode a batch";
  return or_out_of_memory(kWhat, "", [&] {
    std::vector<Result<Encoding>> results(inputs.size(), Encoding());
    std::atomic<std::size_t> next = 0;
    const std::size_t threads = thread_count(options, inputs.size());
    const std::size_t chunk = chunk_size(inputs.size(), threads);
    work_on_threads(threads, [&] {
      while (true) {
        const std::size_t begin = next.fetch_add(chunk);
        if (begin >= inputs.size()) return;
        for (std::size_t i = begin; i < std::min(begin + chunk, inputs.size()); ++i)
          results[i] = or_out_of_memory(kWhat, "", [&] { return encode(inputs[i], options); });
      }
    });
    return all_or_first_error(std::move(results));
  });
}

Result<std::string> Tokenizer::token_bytes(TokenId id) const {
  return Error{ErrorCode::kUnsupported, "what token " + std::to_string(id) +
                                            " adds to a text depends on its neighbours, with this "
                                            "kind of tokenizer"};
}

}  // namespace polystate
