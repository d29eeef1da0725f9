#pragma once

namespace polystate::cli {

// Waits until a descriptor that does not block is ready for `events` (POLLIN, POLLOUT). False where
// there is nothing to wait for; errno stays as it is then.
bool wait_until(int descriptor, short events);

}  // namespace polystate::cli
