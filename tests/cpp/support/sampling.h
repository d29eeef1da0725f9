// How much of a space of options a test tries.

#ifndef POLYSTATE_TESTS_CPP_SUPPORT_SAMPLING_H_
#define POLYSTATE_TESTS_CPP_SUPPORT_SAMPLING_H_

#include <cstddef>
#include <cstdlib>

namespace polystate {

// Every how many options one is tried: `usual`, or 1 where POLYSTATE_TEST_ALL is set, as
// `make test-all` does.
inline std::size_t one_of(std::size_t usual) noexcept {
  return std::getenv("POLYSTATE_TEST_ALL") == nullptr ? usual : 1;
}

}  // namespace polystate

#endif  // POLYSTATE_TESTS_CPP_SUPPORT_SAMPLING_H_
