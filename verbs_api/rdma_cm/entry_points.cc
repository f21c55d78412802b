// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/entry_points.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/rdma_cm/dispatcher.h"
#include "verbs_api/rdma_cm/inherited_channel.h"
#include "verbs_api/rdma_cm/late_waiter.h"
#include "verbs_api/rdma_cm/open_channels.h"

namespace urnic::verbs_api {
namespace {

int fail_with(int code) {
  errno = code;
  return -1;
}

int open_channel(int flags) {
  try {
    const auto devices = ProcessDevices::instance().get();
    if (!devices) return fail_with(report(devices.error()));
    if (const int error = injected_error(Verb::kCmCreateEventChannel); error != 0) return fail_with(error);
    const auto descriptor = open_channels().open(devices.value(), flags);
    if (!descriptor) return fail_with(explain("rdma_cm", descriptor.error()));
    // A listener for any address opens no context.
    ProcessDevices::instance().watch();
    return descriptor.value();
  } catch (const std::bad_alloc&) {
    return fail_with(ENOMEM);
  }
}

/// The result of write_command(), or kParentHasChannel; EBADF when the descriptor is no channel's, or has
/// become another's.
int try_write(int descriptor, const void* bytes, std::size_t size) {
  const auto channel = open_channels().find(descriptor);
  if (channel == nullptr) return EBADF;
  if (channel->is_abandoned()) {
    const int failed = take_over(channel, asks_for_event(bytes, size));
    return failed == 0 ? EBADF : failed;
  }
  return write_command(*channel, reinterpret_cast<std::uintptr_t>(bytes), size);
}

/// What the kernel lets a thread do whose channel another one closed. EBADF.
int wait_for_signal() {
  pause();
  return EBADF;
}

/// Waits in the kernel until there may be events, as the descriptor's flags have it. 0 or an errno value.
int wait_for_event(int descriptor) {
  char seen = 0;
  // The C library's recv(), which is a cancellation point. The kernel restarts it after a signal, or not, as
  // it does with its own rdma_cm. librspreload hands the call on: the descriptor is none of its sockets.
  const ssize_t received = recv(descriptor, &seen, sizeof(seen), MSG_PEEK);
  if (received > 0) return 0;
  if (received < 0) return errno;
  return wait_for_signal();  // another thread closed the channel
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::fail_with;
using urnic::verbs_api::open_channels;
using urnic::verbs_api::OpenChannels;

extern "C" {

int urnic_rdma_cm_open(int flags) {
  return urnic::verbs_api::open_channel(flags);
}

int urnic_rdma_cm_owns(int descriptor) {
  return OpenChannels::has(descriptor) ? 1 : 0;
}

// The program may cancel the thread that waits. No lock is held then, and no object of ours has a destructor
// to be run: that would be for the unwinder that is linked into this library, which knows nothing of what the
// C library's has begun.
ssize_t urnic_rdma_cm_write(int descriptor, const void* bytes, std::size_t size, int* handled) {
  *handled = 1;
  while (OpenChannels::has(descriptor)) {
    const int failed = urnic::verbs_api::try_write(descriptor, bytes, size);
    if (failed == 0) return static_cast<ssize_t>(size);
    if (failed == EBADF) continue;
    const bool has_parent = failed == urnic::verbs_api::kParentHasChannel;
    if (failed != urnic::verbs_api::kNoEventYet && !has_parent) return fail_with(failed);
    const int not_waited = has_parent ? urnic::verbs_api::wait_for_parent(descriptor)
                                      : urnic::verbs_api::wait_for_event(descriptor);
    if (not_waited != 0 && not_waited != EBADF && not_waited != ENOTSOCK) return fail_with(not_waited);
  }
  if (urnic::verbs_api::is_late_waiter(descriptor, bytes, size)) {
    return fail_with(urnic::verbs_api::wait_for_signal());
  }
  *handled = 0;
  return -1;
}

void urnic_rdma_cm_close(int descriptor) {
  if (OpenChannels::has(descriptor)) open_channels().close(descriptor);
}

}  // extern "C"
