// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Descriptors that travel with a message over a Unix socket (SCM_RIGHTS, unix(7)).
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "drivers/descriptor.h"

namespace urnic::drivers {

/// The part of a msghdr that carries them. Lives as long as the msghdr is used.
class PassedDescriptors {
 public:
  static constexpr std::size_t kMost = 8;

  /// Has `message` carry these, at most kMost.
  void attach(msghdr& message, std::span<const int> descriptors) {
    message.msg_control = bytes_.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }

  /// Has `message`, which is to be received, take up to kMost. The kernel closes those beyond, and sets
  /// MSG_CTRUNC.
  void make_room(msghdr& message) {
    message.msg_control = bytes_.data();
    message.msg_controllen = bytes_.size();
  }

  /// Those that a received message brought.
  static std::vector<Descriptor> take(msghdr& message) {
    std::vector<Descriptor> taken;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(descriptor));
        taken.emplace_back(descriptor);
      }
    }
    return taken;
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> bytes_{};
};

}  // namespace urnic::drivers
