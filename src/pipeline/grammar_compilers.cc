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
  if (auto known = find(special)) return known;
  auto created = GrammarCompiler::create(tokenizer, special);
  if (!created) return created.error();
  // Another thread may have made the same one meanwhile: that stays, with what it has compiled.
  if (auto known = find(special)) return known;
  const std::scoped_lock lock(mutex_);
  kept_.push_front({special, *std::move(created)});
  if (kept_.size() > kMostKept) kept_.pop_back();
  return kept_.front().compiler;
}

std::shared_ptr<const GrammarCompiler> GrammarCompilers::find(const TextMarkers& special) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(kept_, special, &Kept::special);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->compiler;
}

}  // namespace polystate
