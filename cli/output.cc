#include "cli/output.h"

#include <sys/poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cli/wait_until.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

bool forbids_colour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  return no_colour != nullptr && *no_colour != '\0';
}

}  // namespace

Output::Output(int descriptor)
    : descriptor_(descriptor),
      is_terminal_(::isatty(descriptor) == 1),
      has_colour_(is_terminal_ && !forbids_colour()) {}

void Output::write(std::string_view text) {
  while (!text.empty() && !is_closed_) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int cause = errno;
    if (cause == EINTR || (cause == EAGAIN && wait_until(descriptor_, POLLOUT))) continue;
    is_closed_ = true;
    if (cause != EPIPE) {
      status_ = Error{ErrorCode::kIo,
                      "cannot write to standard output: " + std::generic_category().message(cause)};
    }
  }
}

}  // namespace polystate::cli
