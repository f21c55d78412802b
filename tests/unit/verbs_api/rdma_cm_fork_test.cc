// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a forked child has of its parent's channels.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

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

TEST(RdmaCmFork, LeavesTheParentItsListenerAsLongAsItLives) {
  CmChannel channel(O_NONBLOCK);
  const std::uint32_t id = channel.create(7);
  const std::uint16_t port = listen_somewhere(channel, id);
  EXPECT_EQ(exit_code_of_child([&] {
              rdma_ucm_event_resp event;
              if (channel.get_event(event) != EAGAIN) return 1;
              return channel.destroy(id) == EIO ? 0 : 2;
            }),
            0);
  CmChannel client;
  const std::uint32_t peer = client.create(8);
  resolve_to(client, peer, port);
  ASSERT_EQ(client.connect(peer, 5), 0);
  channel.expect_event(kConnectRequest);
}

/// Of a server that has called daemon(): its channel is the inherited one. 0: it serves.
int serve_as_daemon(CmChannel& channel, pid_t parent, std::uint16_t port) {
  while (getppid() == parent) usleep(1000);
  if (!channel.is_readable(5000)) return 1;  // a program that polls wakes, too
  rdma_ucm_event_resp event;
  if (channel.get_event(event) != EAGAIN) return 2;
  if (channel.is_readable()) return 3;
  CmChannel client;
  const std::uint32_t peer = client.create(8);
  resolve_to(client, peer, port);
  if (client.connect(peer, 5) != 0) return 4;
  if (channel.expect_event(kConnectRequest).uid != 7) return 5;
  return testing::Test::HasFailure() ? 6 : 0;
}

/// What `body` returns in a process that has called daemon() after `prepare`; -1: it has not ended well.
int result_of_daemon(const std::function<void()>& prepare, const std::function<int(pid_t parent)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  EXPECT_EQ(exit_code_of_child([&] {
              prepare();
              const pid_t parent = getpid();
              if (fork() != 0) _exit(0);  // the parent
              alarm(20);
              const char result = static_cast<char>(body(parent));
              return write(ends[1], &result, 1) == 1 ? 0 : 1;
            }),
            0);
  close(ends[1]);
  char result = -1;
  EXPECT_EQ(read(ends[0], &result, 1), 1);
  close(ends[0]);
  return result;
}

TEST(RdmaCmFork, MakesAListenerAgainWhenItsParentHasEnded) {
  std::optional<CmChannel> channel;
  std::uint16_t port = 0;
  const auto prepare = [&] {
    channel.emplace(O_NONBLOCK);
    port = listen_somewhere(*channel, channel->create(7));
  };
  EXPECT_EQ(result_of_daemon(prepare, [&](pid_t parent) { return serve_as_daemon(*channel, parent, port); }),
            0);
}

TEST(RdmaCmFork, MakesAChannelAgainOnceForAllThreads) {
  std::optional<CmChannel> channel;
  const auto prepare = [&] {
    channel.emplace(O_NONBLOCK);
    listen_somewhere(*channel, channel->create(7));
  };
  const auto ask_at_once = [&](pid_t parent) {
    while (getppid() == parent) usleep(1000);
    if (!channel->is_readable(5000)) return 1;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        rdma_ucm_event_resp event;
        if (channel->get_event(event) != EAGAIN) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong == 0 ? 0 : 2;
  };
  EXPECT_EQ(result_of_daemon(prepare, ask_at_once), 0);
}

TEST(RdmaCmFork, MakesAChannelAgainThatHadNoIdYet) {
  std::optional<CmChannel> channel;
  const auto prepare = [&] { channel.emplace(); };
  const auto resolve = [&](pid_t) {
    const std::uint32_t id = channel->create(7);
    if (channel->resolve(id, ipv4(kOwnIpv4, 1)) != 0) return 1;
    channel->expect_event(kAddressResolved);
    return testing::Test::HasFailure() ? 2 : 0;
  };
  EXPECT_EQ(result_of_daemon(prepare, resolve), 0);
}

TEST(RdmaCmFork, WaitsForTheParentsEndOnceAndNotWithEachCommand) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  EXPECT_EQ(exit_code_of_child([&] {
              if (channel.destroy(id) != EIO) return 1;
              const auto before = std::chrono::steady_clock::now();
              for (int i = 0; i < 3; ++i) {
                if (channel.destroy(id) != EIO) return 2;
              }
              return std::chrono::steady_clock::now() - before < std::chrono::seconds(1) ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace urnic::test
