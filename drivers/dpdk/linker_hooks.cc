// Calls from DPDK to the C library that end here: the linker's --wrap sends them
// (drivers/dpdk/CMakeLists.txt). It does so for everything that is linked together with DPDK, so what does
// not come from DPDK is passed on.
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "drivers/dpdk/shielded.h"

extern "C" {

void __real_openlog(const char* identity, int option, int facility);
unsigned __real_sleep(unsigned seconds);

// EAL would log to syslog under its own name, and from then on so would the program that we live in.
void __wrap_openlog(const char* identity, int option, int facility) {
  if (!urnic::drivers::on_shielded_thread()) __real_openlog(identity, option, facility);
}

// The vhost library looks once a second whether the front it lost is back. That is a second in which a new
// pair of processes retransmits into the void, so look more often. Its threads are told by their signal mask:
// nobody else blocks SIGSEGV (see run_shielded()).
unsigned __wrap_sleep(unsigned seconds) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (sigismember(&blocked, SIGSEGV) != 1) return __real_sleep(seconds);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return 0;
}

}  // extern "C"
