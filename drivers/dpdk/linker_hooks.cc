// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Calls from DPDK to the C library, and one to itself, that end here: the linker's --wrap sends them
// (drivers/dpdk/CMakeLists.txt). It does so for everything that is linked together with DPDK, so what does
// not come from DPDK is passed on.
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <rte_errno.h>
#include <rte_memzone.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "drivers/dpdk/lent_memory.h"
#include "drivers/dpdk/shielded.h"
#include "drivers/peer_user.h"
#include "nic/process/descriptor.h"

extern "C" {

void __real_openlog(const char* identity, int option, int facility);
unsigned __real_sleep(unsigned seconds);
int __real_epoll_wait(int set, epoll_event* events, int most, int timeout_ms);
int __real_nanosleep(const timespec* wanted, timespec* left);
unsigned __real_eal_cpu_socket_id(unsigned cpu);
const rte_memzone* __real_rte_memzone_reserve_aligned(const char* name, size_t bytes, int socket,
                                                      unsigned flags, unsigned alignment);
int __real_rte_memzone_free(const rte_memzone* zone);
int __real_connect(int socket, const sockaddr* address, socklen_t bytes);
void* __real_mmap64(void* wanted, size_t bytes, int protection, int flags, int file, off64_t offset);
int __real_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* processors);
int __real_setsockopt(int socket, int level, int name, const void* value, socklen_t bytes);

// DPDK's threads inherit a signal mask that no other thread has: it blocks SIGSEGV (see run_shielded()).
static bool on_thread_of_dpdk() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGSEGV) == 1;
}

// EAL would log to syslog under its own name, and from then on so would the program that we live in.
void __wrap_openlog(const char* identity, int option, int facility) {
  if (!urnic::drivers::on_shielded_thread()) __real_openlog(identity, option, facility);
}

// The vhost library looks once a second whether the front it lost is back. That is a second in which a new
// pair of processes retransmits into the void, so look more often.
unsigned __wrap_sleep(unsigned seconds) {
  if (!on_thread_of_dpdk()) return __real_sleep(seconds);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return 0;
}

// The vhost library of DPDK 24.11 waits for events, a second at most, on a thread of its own. A port that
// closes waits for the end of that thread: so much later would each program end.
int __wrap_epoll_wait(int set, epoll_event* events, int most, int timeout_ms) {
  constexpr int kPatienceMs = 20;
  if (timeout_ms > kPatienceMs && on_thread_of_dpdk()) timeout_ms = kPatienceMs;
  return __real_epoll_wait(set, events, most, timeout_ms);
}

// On processors that do not say it, EAL finds the frequency of the time stamp counter by sleeping for a tenth
// of a second, the greater part of the start of a program. Both clocks are read before and after, so that a
// hundredth does as well, and EAL rounds to 10 MHz.
int __wrap_nanosleep(const timespec* wanted, timespec* left) {
  constexpr long kTenthOfSecond = 100'000'000;
  const bool is_measuring = wanted->tv_sec == 0 && wanted->tv_nsec == kTenthOfSecond;
  if (!is_measuring || !urnic::drivers::on_shielded_thread()) return __real_nanosleep(wanted, left);
  constexpr timespec kHundredth{.tv_sec = 0, .tv_nsec = kTenthOfSecond / 10};
  return __real_nanosleep(&kHundredth, left);
}

// EAL asks for the NUMA node of every processor that there could be, and looks for one that is not there in
// each of 32 nodes: four thousand system calls, a fifth of a program's start. Then it settles for node 0.
unsigned __wrap_eal_cpu_socket_id(unsigned cpu) {
  std::array<char, 64> folder{};
  fmt::format_to_n(folder.data(), folder.size() - 1, "/sys/devices/system/cpu/cpu{}", cpu);
  return access(folder.data(), F_OK) == 0 ? __real_eal_cpu_socket_id(cpu) : 0;
}

// The vhost library talks to whatever front answers at its path, and maps what that lends. A front of another
// user is left at once. The library tries again later with the same descriptor, which must not be connected
// then.
int __wrap_connect(int socket, const sockaddr* address, socklen_t bytes) {
  const int result = __real_connect(socket, address, bytes);
  const bool is_connected = result == 0 || errno == EISCONN;
  if (!is_connected || address->sa_family != AF_UNIX || !on_thread_of_dpdk()) return result;
  if (urnic::drivers::is_trusted_peer(socket)) {
    urnic::nic::keep_from_children(socket);
    return result;
  }
  const int fresh = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fresh >= 0) {
    dup3(fresh, socket, O_CLOEXEC);
    close(fresh);
  }
  errno = EACCES;
  return -1;
}

// A mapping keeps its file open, whatever a child closes: a packet socket would go on to receive, and a card
// would stay in use. EAL's own memory stays: DPDK looks at it when a process exits.
void* __wrap_mmap64(void* wanted, size_t bytes, int protection, int flags, int file, off64_t offset) {
  void* const start = __real_mmap64(wanted, bytes, protection, flags, file, offset);
  struct stat status {};
  if (start == MAP_FAILED || file < 0 || !on_thread_of_dpdk() || fstat(file, &status) != 0) return start;
  if (!S_ISREG(status.st_mode)) madvise(start, bytes, MADV_DONTFORK);
  return start;
}

// EAL pins the thread that starts it, and keeps the others away from there. Our threads run where the process
// may.
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* processors) {
  return on_thread_of_dpdk() ? 0 : __real_pthread_setaffinity_np(thread, bytes, processors);
}

// net_af_packet puts its socket into a fan-out group, so that several share the frames of an interface; the
// group's number is made of 16 bits of the process id and the interface's index. Where two programs meet in
// one number, each would get a part of the frames if they are on one interface (containers have the same
// process ids), and the second would be refused if they are on two. Our ports have one socket, which needs no
// group.
int __wrap_setsockopt(int socket, int level, int name, const void* value, socklen_t bytes) {
  if (level == SOL_PACKET && name == PACKET_FANOUT) return 0;
  return __real_setsockopt(socket, level, name, value, bytes);
}

// A front lends its back the rings, which net_virtio_user takes from DPDK's heap under names such as
// "port0_vq1" and "port0_vq1_hdr": here they come from memory that has nothing else in it (see LentMemory).
const rte_memzone* __wrap_rte_memzone_reserve_aligned(const char* name, size_t bytes, int socket,
                                                      unsigned flags, unsigned alignment) {
  using urnic::drivers::LentMemory;
  LentMemory* const lent = LentMemory::in_use();
  const bool is_ring = std::string_view(name).find("_vq") != std::string_view::npos;
  if (lent == nullptr || !is_ring) {
    return __real_rte_memzone_reserve_aligned(name, bytes, socket, flags, alignment);
  }
  const rte_memzone* const zone = lent->zone(name, bytes, alignment);
  if (zone == nullptr) rte_errno = ENOMEM;
  return zone;
}

int __wrap_rte_memzone_free(const rte_memzone* zone) {
  if (zone != nullptr && urnic::drivers::LentMemory::is_lent(*zone)) return 0;
  return __real_rte_memzone_free(zone);
}

}  // extern "C"
