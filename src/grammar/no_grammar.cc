// Where the build has no grammars.
#include <memory>

#include "polystate/core/result.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::create(const Tokenizer&,
                                                                       const TextMarkers&) {
  return Error{ErrorCode::kUnsupported,
               "this build has no grammars: build polystate with POLYSTATE_GRAMMAR=ON"};
}

}  // namespace polystate
