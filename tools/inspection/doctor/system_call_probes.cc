// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/system_call_probes.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "drivers/descriptor.h"
#include "nic/process/memory_file.h"

namespace urnic::tools {
namespace {

using drivers::Descriptor;

int errno_if(bool failed) {
  return failed ? errno : 0;
}

int probe_sealed_memory() {
  const Descriptor memory(nic::make_memory_file("urnic-doctor"));
  if (!memory || ftruncate(memory.get(), 4096) != 0) return errno;
  return errno_if(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0);
}

int probe_eventfd() {
  const Descriptor event(eventfd(0, EFD_CLOEXEC));
  return errno_if(!event);
}

int probe_socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return errno;
  for (const int end : ends) close(end);
  return 0;
}

int probe_own_memory() {
  char from = 1;
  char to = 0;
  const iovec local{.iov_base = &to, .iov_len = 1};
  const iovec remote{.iov_base = &from, .iov_len = 1};
  return errno_if(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1);
}

int probe_pidfd() {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  return errno_if(!process);
}

int probe_membarrier() {
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (commands < 0) return errno;
  return (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 ? 0 : ENOSYS;
}

struct Probe {
  const char* name;
  const char* loss;
  bool is_needed;
  int (*run)();
};

constexpr Probe kProbes[] = {
    {"memfd_create with seals", "programs cannot open the device", true, probe_sealed_memory},
    {"eventfd2", "there are no completion channels, and no device", true, probe_eventfd},
    {"socketpair (AF_UNIX, SOCK_SEQPACKET)", "programs do not find each other", true, probe_socket_pair},
    {"process_vm_readv on itself", "there is no on-demand paging (IBV_ACCESS_ON_DEMAND)", false,
     probe_own_memory},
    {"pidfd_open", "a direct link whose descriptor a child inherited outlives its program", false,
     probe_pidfd},
    {"membarrier", "a vhost wire takes a full fence for each burst", false, probe_membarrier},
};

}  // namespace

std::vector<ProbedSystemCall> probe_system_calls() {
  std::vector<ProbedSystemCall> calls;
  for (const Probe& probe : kProbes) {
    calls.push_back(
        {.name = probe.name, .loss = probe.loss, .is_needed = probe.is_needed, .error = probe.run()});
  }
  return calls;
}

}  // namespace urnic::tools
