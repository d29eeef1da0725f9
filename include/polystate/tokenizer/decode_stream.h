#pragma once

#include <string>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate {

// Decodes ids one at a time. Every part that it gives is valid UTF-8 and holds whole characters:
// what may still change waits for later tokens. It keeps its tokenizer; one thread at a time.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;

  // The text that `id` completes, often none. kContract when it is not in the vocabulary; the
  // stream is then as before. kEngine when memory runs out; the stream is then of no use.
  virtual Result<std::string> push(TokenId id) = 0;
  // What is left. The stream then starts anew.
  virtual Result<std::string> finish() = 0;
};

}  // namespace polystate
