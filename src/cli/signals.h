// What a command does when it is asked to end: SIGINT (Ctrl-C), SIGTERM, SIGHUP. Those that are
// ignored when the program starts (nohup, a background job) stay ignored.
#pragma once

#include <csignal>

#include "base/process.h"

namespace fuseproof {

// Sees to it that the signals are noted: a long command asks for them. A second one of a kind ends
// the program at once.
void watch_for_signals();

// The first one that came since then; 0: none.
int received_signal();

// 128 + signal, as shells report it.
int signal_status(int signal);

// Waits for a program that is the user's own. SIGTERM and SIGHUP are handed on to it. SIGINT is
// not: Ctrl-C reaches it in the terminal's process group, and must not reach it twice. Construct it
// before the program starts, so that no signal is lost.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  struct End {
    ExitStatus status;
    int signal = 0;  // the first one that this process got meanwhile; 0: none
  };
  End wait_for(ChildProcess& child);

 private:
  sigset_t watched_ = {};
  sigset_t before_ = {};
};

}  // namespace fuseproof
