#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "polystate/session/model.h"

namespace polystate {

// What a fake encoder-decoder is, and what was asked of it. Shared by a test and the engine.
struct FakeEncoderDecoder {
  std::int64_t page_size = 4;
  std::int64_t max_batch = 8;
  std::int64_t max_source_length = 30;
  std::int64_t max_length = 50;
  std::int64_t vocabulary_size = 40;
  std::int64_t pages = 0;        // 0: those that max_batch sequences need
  std::int64_t cross_pages = 0;  // 0: those that max_batch sources need
  std::uint64_t seed = 1;
  float scale = 8.0F;             // of the logits, which are 0 to scale
  std::string generation_config;  // the file's text; empty: there is none
  int fails_at = -1;              // the call (of all methods, from 0) that fails, half-way
  std::size_t threads = 1;        // Engine::sessions_side_by_side

  std::mutex mutex;  // of a call, which changes what follows
  int sessions = 0;
  int single_threaded_sessions = 0;
  int calls = 0;
  int encodes = 0;
  int decodes = 0;
  int copies = 0;
  int resets = 0;
  std::size_t most_rows = 0;        // of one call of decode
  std::int64_t decoded_rows = 0;    // of all
  std::int64_t encoded_tokens = 0;  // padding included
  std::int64_t most_encoded = 0;    // of one call
};

// A model whose caches are pages of tokens, and whose logits depend on every token of the source
// and of the row's sequence, as it finds them through the tables. A test fails where a call breaks
// what EncoderDecoder says of the methods. `fake` is asked again at each call.
Model make_model(const std::shared_ptr<FakeEncoderDecoder>& fake);

// The logits after `tokens` for `source`.
std::vector<float> fake_logits(const FakeEncoderDecoder& fake, std::span<const std::int64_t> source,
                               std::span<const std::int64_t> tokens);

}  // namespace polystate
