#pragma once

// Before a function: it exists once for each of these instruction sets, and the machine chooses
// when the program starts. All give the same results where a file is compiled without contracting
// products and sums. Sanitizers, whose functions the choice would call too early, have one only.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define POLYSTATE_VECTORISED __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define POLYSTATE_VECTORISED
#endif
