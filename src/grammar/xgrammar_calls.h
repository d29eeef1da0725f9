#pragma once

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::grammar {

// What xgrammar warned of on this thread since it was last asked: what it leaves out of account.
std::vector<std::string> take_warnings();

// What xgrammar threw as kContract. Where it quotes a text of the caller's, the beginning of that.
Error refusal(const std::exception& thrown);

// The Result of calls of xgrammar, which throws: kContract, or kEngine where memory is exhausted.
template <typename Calls>
auto called(const Calls& calls) -> decltype(calls()) {
  try {
    return calls();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kEngine, "out of memory in a grammar"};
  } catch (const std::exception& error) {
    return refusal(error);
  }
}

}  // namespace polystate::grammar
