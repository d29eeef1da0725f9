#include "polystate/core/result.h"

#include <cstdio>
#include <cstdlib>

namespace polystate::internal {

void end_for_missing_value(const Error& error) {
  std::fprintf(stderr, "polystate: the value of a failed Result was used, whose error is: %s\n",
               error.message.c_str());
  std::abort();
}

void end_for_missing_error() {
  std::fprintf(stderr, "polystate: the error of a Result was used that has none\n");
  std::abort();
}

}  // namespace polystate::internal
