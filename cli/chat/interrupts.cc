#include "cli/chat/interrupts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace polystate::cli {
namespace {

// What a handler may touch: signals know of no object.
std::atomic<bool> has_stop = false;
std::atomic<bool> has_resize = false;
std::array<int, 2> wake_pipe = {-1, -1};  // a byte for each signal, so that none is missed

extern "C" void on_signal(int signal) {
  const int saved = errno;
  (signal == SIGINT ? has_stop : has_resize) = true;
  const char byte = 0;
  (void)!::write(wake_pipe[1], &byte, 1);
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupts::Interrupts(bool takes_signals) : takes_signals_(takes_signals) {
  if (!takes_signals_) return;
  if (::pipe2(wake_pipe.data(), O_NONBLOCK | O_CLOEXEC) != 0) wake_pipe = {-1, -1};
  handle(SIGINT, &on_signal);
  handle(SIGWINCH, &on_signal);
}

Interrupts::~Interrupts() {
  if (!takes_signals_) return;
  handle(SIGINT, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
  for (int& end : wake_pipe) {
    ::close(end);
    end = -1;
  }
}

bool Interrupts::is_stopped() const { return has_stop; }

void Interrupts::forget_stop() { has_stop = false; }

bool Interrupts::take_resize() { return has_resize.exchange(false); }

bool Interrupts::wait_for(int descriptor) const {
  std::array<pollfd, 2> wanted = {pollfd{.fd = descriptor, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_pipe[0], .events = POLLIN, .revents = 0}};
  (void)::poll(wanted.data(), wanted.size(), -1);
  std::array<char, 64> bytes{};
  while (wake_pipe[0] >= 0 && ::read(wake_pipe[0], bytes.data(), bytes.size()) > 0) {
  }
  return wanted[0].revents != 0;
}

}  // namespace polystate::cli
