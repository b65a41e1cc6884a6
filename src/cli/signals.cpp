#include "cli/signals.h"

#include <array>

namespace fuseproof {
namespace {

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t received = 0;

void on_signal(int signal) {
  if (received == 0) received = signal;
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void watch_for_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND;
  for (const int signal : kEndingSignals) {
    if (!is_ignored(signal)) ::sigaction(signal, &action, nullptr);
  }
}

int received_signal() { return received; }

int signal_status(int signal) { return 128 + signal; }

SignalRelay::SignalRelay() {
  sigemptyset(&watched_);
  sigaddset(&watched_, SIGCHLD);
  for (const int signal : kEndingSignals) {
    if (!is_ignored(signal)) sigaddset(&watched_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &watched_, &before_);
}

SignalRelay::~SignalRelay() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

SignalRelay::End SignalRelay::wait_for(ChildProcess& child) {
  End end;
  while (!child.poll()) {
    const int signal = ::sigwaitinfo(&watched_, nullptr);
    if (signal < 0 || signal == SIGCHLD) continue;
    if (end.signal == 0) end.signal = signal;
    if (signal != SIGINT) child.kill(signal);
  }
  // One that came as the script ended is still there.
  constexpr timespec kNow = {};
  for (int signal; (signal = ::sigtimedwait(&watched_, nullptr, &kNow)) > 0;) {
    if (signal != SIGCHLD && end.signal == 0) end.signal = signal;
  }
  end.status = child.wait();
  return end;
}

}  // namespace fuseproof
