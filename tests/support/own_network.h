// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OwnNetwork: a network namespace for tests that need UDP port 4791, where another program of the host has
// it.
#pragma once

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "nic/host/udp_port_holders.h"
#include "transport/wire/udp.h"

namespace urnic::test {

/// Makes the namespace before the first test, while the process has one thread. Where it cannot, the tests
/// say that the port is taken.
class OwnNetwork : public testing::Environment {
 public:
  void SetUp() override {
    if (nic::udp_port_holders(transport::wire::kRocePort).empty()) return;
    if (unshare(CLONE_NEWNET) != 0 && !become_root_of_an_own_one()) return;
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
  }

 private:
  static bool become_root_of_an_own_one() {
    const auto uid = geteuid();
    const auto gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << uid << ' ' << uid << " 1";
    std::ofstream("/proc/self/gid_map") << gid << ' ' << gid << " 1";
    return true;
  }
};

}  // namespace urnic::test
