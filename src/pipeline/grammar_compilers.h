#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "polystate/core/result.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The compilers of grammars over one tokenizer, which are made where one is asked for. Keeps the
// last ones. Many threads may use it at once.
class GrammarCompilers {
 public:
  // Errors as GrammarCompiler::create.
  Result<std::shared_ptr<const GrammarCompiler>> get(const Tokenizer& tokenizer,
                                                     const TextMarkers& special);

 private:
  struct Kept {
    TextMarkers special;
    std::shared_ptr<const GrammarCompiler> compiler;
  };

  // The compiler that is kept, which becomes the last used; null where there is none.
  std::shared_ptr<const GrammarCompiler> find(const TextMarkers& special);

  std::mutex mutex_;      // guards kept_
  std::list<Kept> kept_;  // the last used first
};

}  // namespace polystate
