// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a forked child is told where its parent's port cannot be opened again, as over DPDK.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "tests/unit/verbs_api/loopback_port_opener.h"
#include "tests/unit/verbs_api/rdma_cm_objects.h"
#include "tests/unit/verbs_api/verbs_objects.h"
#include "verbs_api/rdma_cm/entry_points.h"

namespace urnic::test {
namespace {

class LostPort : public testing::Test {
 protected:
  LostPort() { port_may_be_opened_after_fork = false; }
  ~LostPort() override { port_may_be_opened_after_fork = true; }
  /// What `call` leaves in errno in a child; 0: it succeeds there.
  static int error_in_child(const std::function<bool()>& call) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      _exit(call() ? 0 : errno);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(LostPort, LeavesTheChildNoDevice) {
  const Pair pair;
  EXPECT_EQ(error_in_child([] { return ibv_get_device_list(nullptr) != nullptr; }), EIO);
}

TEST_F(LostPort, LeavesTheChildNoNewChannels) {
  CmChannel channel;
  ASSERT_EQ(channel.bind(channel.create(7), ipv4(kOwnIpv4, 0)), 0);
  EXPECT_EQ(error_in_child([] { return urnic_rdma_cm_open(0) >= 0; }), EIO);
}

}  // namespace
}  // namespace urnic::test
