#ifndef POLYSTATE_TESTS_FUZZ_FUZZER_H_
#define POLYSTATE_TESTS_FUZZ_FUZZER_H_

#include <cstddef>
#include <cstdint>

// Takes the bytes of one file, by libFuzzer's name for it. Returns 0, or ends the process where a
// promise is not kept.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#endif  // POLYSTATE_TESTS_FUZZ_FUZZER_H_
