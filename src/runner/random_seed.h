#pragma once

#include <cstdint>
#include <exception>
#include <random>
#include <string>

#include "polystate/core/result.h"

namespace polystate {

// A seed that differs from call to call. kEngine where the system gives no random numbers.
inline Result<std::uint64_t> random_seed() {
  try {
    return std::uint64_t{std::random_device()()};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kEngine,
                 "there is no random seed: " + std::string(error.what()) + "; give one as seed"};
  }
}

}  // namespace polystate
