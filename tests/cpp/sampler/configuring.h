#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A configuration whose field `name` has a JSON value.
inline GenerationConfig with(std::string_view name, std::string_view json) {
  GenerationConfig config;
  const Status status = config.set(name, json);
  EXPECT_TRUE(status) << status.error().message;
  return config;
}

}  // namespace polystate
