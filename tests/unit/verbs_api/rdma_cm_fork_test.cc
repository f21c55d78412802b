// What a forked child has of its parent's channels.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "tests/unit/verbs_api/rdma_cm_objects.h"
#include "verbs_api/rdma_cm/entry_points.h"

namespace urnic::test {
namespace {

/// What a child ends with that runs `body`.
int exit_code_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RdmaCmFork, LeavesTheChildDeadChannelsAndTheParentItsOwn) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  EXPECT_EQ(exit_code_of_child([&] {
              if (urnic_rdma_cm_owns(channel.fd()) != 1) return 1;
              if (channel.resolve_route(id) != EIO) return 2;
              rdma_ucm_event_resp event;
              if (channel.get_event(event) != EIO) return 3;
              urnic_rdma_cm_close(channel.fd());
              close(channel.fd());
              if (urnic_rdma_cm_owns(channel.fd()) != 0) return 4;
              return 0;
            }),
            0);
  channel.expect_event(kAddressResolved);
  EXPECT_EQ(channel.resolve_route(id), 0);
  channel.expect_event(kRouteResolved);
}

TEST(RdmaCmFork, LeavesTheChildOfAProgramThatHasNoPortYetChannelsOfItsOwn) {
  CmChannel before;  // opens no port
  EXPECT_EQ(exit_code_of_child([&] {
              if (before.write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{}) != EIO) return 1;
              CmChannel own;
              const std::uint32_t id = own.create(7);
              if (own.resolve(id, ipv4(kOwnIpv4, 1)) != 0) return 2;
              own.expect_event(kAddressResolved);
              return testing::Test::HasFailure() ? 3 : 0;
            }),
            0);
}

TEST(RdmaCmFork, MakesNoNewChannelsInTheChildOfAProgramThatHasAPort) {
  CmChannel channel;
  ASSERT_EQ(channel.bind(channel.create(7), ipv4(kOwnIpv4, 0)), 0);
  EXPECT_EQ(exit_code_of_child([] { return urnic_rdma_cm_open(0) == -1 ? errno : 0; }), EIO);
}

}  // namespace
}  // namespace urnic::test
