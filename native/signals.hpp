// Signals are the business of Python's main thread. A thread inherits which signals are blocked, so whoever makes threads
// holds one of these meanwhile: then none of them is ever interrupted, or handles a signal in the main thread's stead.
#pragma once

#include <csignal>
#include <pthread.h>

namespace penstock {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace penstock
