#include "pipeline/grammar_compilers.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "polystate/core/result.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

constexpr std::size_t kMostKept = 4;

}  // namespace

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompilers::get(const Tokenizer& tokenizer,
                                                                     const TextMarkers& special) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(kept_, special, &Kept::special);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().compiler;
  }
  auto created = GrammarCompiler::create(tokenizer, special);
  if (!created) return created.error();
  kept_.push_front({special, *std::move(created)});
  if (kept_.size() > kMostKept) kept_.pop_back();
  return kept_.front().compiler;
}

}  // namespace polystate
