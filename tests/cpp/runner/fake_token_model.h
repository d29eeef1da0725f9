#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/session/model.h"

namespace polystate {

// What a fake token model is, and what was asked of it. Shared by a test and the engine.
struct FakeTokenModel {
  std::int64_t page_size = 4;
  std::int64_t max_sequences = 8;
  std::int64_t max_step_tokens = 0;     // 0: 64, or max_sequences where that is more
  std::int64_t max_wanted = 0;          // 0: max_sequences
  std::int64_t max_source_length = 30;  // 0: it encodes no sources
  std::int64_t max_length = 50;
  std::int64_t vocabulary_size = 40;
  std::int64_t pages = 0;        // 0: those that max_sequences need
  std::int64_t cross_pages = 0;  // 0: those that max_sequences sources need
  // 2 or more: it has layers whose tokens see so many positions, beside those that see all, or in
  // their place. 0: none.
  std::int64_t window = 0;
  bool sees_all = true;           // it has layers that do
  std::int64_t window_pages = 0;  // 0: those that max_sequences sequences need, two at least
  std::optional<std::int64_t> uncounted = {};  // padding_id, and `forward` has `counted`
  std::string manifest_patch = "[]";           // of its manifest, as RFC 6902 writes it
  std::uint64_t seed = 1;
  float scale = 8.0F;             // of the logits, which are 0 to scale
  std::string generation_config;  // the file's text; empty: there is none
  int fails_at = -1;              // the call (of all methods, from 0) that fails, half-way
  std::size_t threads = 1;        // Engine::sessions_side_by_side
  // Another caller has the threads: Engine::parallel_for runs one task after the other.
  std::atomic<bool> is_serial = false;

  std::mutex mutex;  // of a call, which changes what follows
  int sessions = 0;
  int single_threaded_sessions = 0;
  int calls = 0;
  int encodes = 0;
  int steps = 0;
  int copies = 0;
  int resets = 0;
  std::size_t most_rows = 0;          // of one call of forward
  std::size_t most_tokens = 0;        // of one
  std::int64_t tokens = 0;            // of all
  std::int64_t logits = 0;            // of all
  std::vector<std::int64_t> counted;  // of the last one
  std::int64_t encoded_tokens = 0;    // padding included
  std::int64_t most_encoded = 0;      // of one call
};

// A model whose caches are pages of tokens, and whose logits depend on every token of the source
// and of the token's sequence, as it finds them through the tables. Pages of layers that see a
// window have in each place a digest of all tokens up to it, as keys and values depend on what is
// before them. A test fails where a call breaks what TokenModel and SourceEncoder say of the
// methods. `fake` is asked again at each call.
Model make_model(const std::shared_ptr<FakeTokenModel>& fake);

// A fake model without an encoder.
std::shared_ptr<FakeTokenModel> decoder_alone();
// Such a model with layers that see a window, beside others or alone.
std::shared_ptr<FakeTokenModel> windowed_decoder(std::int64_t window, bool sees_all = true);

// The logits after `tokens` for `source`.
std::vector<float> fake_logits(const FakeTokenModel& fake, std::span<const std::int64_t> source,
                               std::span<const std::int64_t> tokens);

}  // namespace polystate
