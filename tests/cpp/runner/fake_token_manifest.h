#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/fake_token_model.h"
#include "support/fake_manifest.h"

namespace polystate {

// What the artifact of a fake token model has.

// Pages of its pools.
std::int64_t self_pages(const FakeTokenModel& fake);
std::int64_t cross_pages(const FakeTokenModel& fake);
std::int64_t window_pages(const FakeTokenModel& fake);

std::vector<FakeManifest::Method> fake_methods(const FakeTokenModel& fake);
// The text of its manifest.json.
std::string fake_manifest(const FakeTokenModel& fake);

}  // namespace polystate
