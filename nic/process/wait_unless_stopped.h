// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a thread of ours that watches the host waits until something happens, or until its owner ends it.
#pragma once

#include <poll.h>

#include <array>

namespace urnic::nic {

/// Waits until `fd` (-1: none) can be read, or for so many milliseconds (-1: forever). False: `stop_fd` can
/// be read, or the program has closed one of the two. A signal may end the wait early.
inline bool wait_unless_stopped(int stop_fd, int fd, int at_most_ms) {
  std::array<pollfd, 2> descriptors{
      {{.fd = stop_fd, .events = POLLIN, .revents = 0}, {.fd = fd, .events = POLLIN, .revents = 0}}};
  ::poll(descriptors.data(), descriptors.size(), at_most_ms);
  return descriptors[0].revents == 0 && (descriptors[1].revents & POLLNVAL) == 0;
}

}  // namespace urnic::nic
