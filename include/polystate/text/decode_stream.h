#pragma once

#include <memory>
#include <string>

#include "polystate/core/result.h"
#include "polystate/text/encoding.h"

namespace polystate {

class Tokenizer;

// Decodes ids one at a time. Every part that it gives is valid UTF-8 and holds whole characters:
// what may still change waits for later tokens. It owns its state and keeps its tokenizer; one
// thread at a time.
class DecodeStream {
 public:
  DecodeStream(DecodeStream&&) noexcept;
  DecodeStream& operator=(DecodeStream&&) noexcept;
  DecodeStream(const DecodeStream&) = delete;
  DecodeStream& operator=(const DecodeStream&) = delete;
  ~DecodeStream();

  // The text that `id` completes, often none. kContract when it is not in the vocabulary; the
  // stream is then as before.
  Result<std::string> push(TokenId id);
  // What is left. The stream then starts anew.
  Result<std::string> finish();

 private:
  friend class Tokenizer;
  struct State;
  explicit DecodeStream(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace polystate
