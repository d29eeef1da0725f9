// Where the build has no grammars.
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::create(const Tokenizer&,
                                                                       std::span<const TokenId>) {
  return Error{ErrorCode::kUnsupported,
               "this build has no grammars: build polystate with POLYSTATE_GRAMMAR=ON"};
}

}  // namespace polystate
