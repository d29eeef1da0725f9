#include "cli/wait_until.h"

#include <sys/poll.h>

#include <cerrno>

namespace polystate::cli {

bool wait_until(int descriptor, short events) {
  const int cause = errno;
  pollfd waited{.fd = descriptor, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&waited, 1, -1);
  } while (ready < 0 && errno == EINTR);
  errno = cause;
  return ready > 0;
}

}  // namespace polystate::cli
