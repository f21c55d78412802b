// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The socket that a program has: it must behave as one of the kernel's.
#include "tools/runtime/netlink/sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/netlink/decoded.h"
#include "tests/unit/netlink/device_files.h"

namespace urnic::netlink {
namespace {

class NetlinkSockets : public testing::Test {
 protected:
  void SetUp() override {
    const int probe = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
    if (probe < 0) GTEST_SKIP() << "the kernel has no NETLINK_USERSOCK";
    close(probe);
    const int real = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
    if (real >= 0) {
      close(real);
      GTEST_SKIP() << "the kernel has devices of its own, which would be listed, too";
    }
  }

  void show(int devices) {
    for (int i = 0; i < devices; ++i) files.add("urnic" + std::to_string(i));
  }
  int open(int type = SOCK_RAW | SOCK_NONBLOCK) {
    const int fd = sockets.open(type);
    EXPECT_GE(fd, 0);
    return fd;
  }
  static Bytes request(int command, int flags) {
    return message({.nlmsg_len = 0,
                    .nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)),
                    .nlmsg_flags = static_cast<std::uint16_t>(flags),
                    .nlmsg_seq = 7,
                    .nlmsg_pid = 0},
                   Bytes{});
  }
  static Bytes list_devices() { return request(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST | NLM_F_DUMP); }
  static Bytes ask_for_nothing() { return request(RDMA_NLDEV_CMD_GET, NLM_F_ACK); }

  ssize_t send(int fd, const Bytes& bytes, std::uint32_t to = 0, std::uint32_t groups = 0) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_pid = to;
    address.nl_groups = groups;
    iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return sockets.send(fd, message, 0);
  }
  /// Empty: an error, in errno.
  Bytes receive(int fd, int flags = 0, std::size_t room = 4096) {
    Bytes bytes(room);
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message{};
    from = {};
    from.nl_pid = 99;
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = sockets.receive(fd, message, flags);
    received_flags = message.msg_flags;
    received_size = size;
    bytes.resize(size > 0 ? std::min(static_cast<std::size_t>(size), room) : 0);
    return bytes;
  }
  /// All that there is.
  std::vector<Decoded> receive_all(int fd) {
    std::vector<Decoded> all;
    for (Bytes bytes = receive(fd); !bytes.empty(); bytes = receive(fd)) {
      for (Decoded& one : decoded(std::span(bytes))) all.push_back(std::move(one));
    }
    return all;
  }
  static bool is_readable(int fd) {
    pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&polled, 1, 0) == 1;
  }

  DeviceFiles files;
  Sockets sockets{files.folder(), 0};
  sockaddr_nl from{};
  int received_flags = 0;
  ssize_t received_size = 0;
};

TEST_F(NetlinkSockets, AnswersAsTheKernel) {
  show(2);
  const int fd = open();
  EXPECT_FALSE(is_readable(fd));
  EXPECT_EQ(send(fd, list_devices()), static_cast<ssize_t>(list_devices().size()));
  EXPECT_TRUE(is_readable(fd));
  const auto all = receive_all(fd);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].head.nlmsg_type, NLMSG_DONE);
  EXPECT_EQ(all[0].head.nlmsg_seq, 7u);
  sockaddr_nl own{};
  socklen_t size = sizeof own;
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size), 0);
  EXPECT_NE(own.nl_pid, 0u);
  EXPECT_EQ(all[0].head.nlmsg_pid, own.nl_pid);
  close(fd);
}

TEST_F(NetlinkSockets, AnswersFromPortZero) {
  const int fd = open();
  send(fd, list_devices());
  ASSERT_FALSE(receive(fd).empty());
  EXPECT_EQ(from.nl_family, AF_NETLINK);
  EXPECT_EQ(from.nl_pid, 0u);
  close(fd);
}

TEST_F(NetlinkSockets, HasThePortThatTheProgramBindsItTo) {
  const int fd = open();
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_pid = 0x7a000001;
  ASSERT_EQ(sockets.bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  send(fd, list_devices());
  const auto all = receive_all(fd);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].head.nlmsg_pid, 0x7a000001u);
  close(fd);
}

TEST_F(NetlinkSockets, CutsMessagesThatAreLargerThanTheBuffer) {
  show(1);
  const int fd = open();
  send(fd, list_devices());
  receive(fd, MSG_PEEK | MSG_TRUNC, 20);
  const ssize_t whole = received_size;
  EXPECT_GT(whole, 20);
  EXPECT_EQ(receive(fd, 0, 20).size(), 20u);
  EXPECT_NE(received_flags & MSG_TRUNC, 0);
  EXPECT_TRUE(receive(fd).empty());
  close(fd);
}

// 600 devices take some 20 datagrams; the smallest queue takes fewer.
TEST_F(NetlinkSockets, GoesOnWithALongListAsTheProgramReceives) {
  show(600);
  const int fd = open();
  const int smallest = 1;
  ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest), 0);
  send(fd, list_devices());
  // Until it has read all of it, another list is refused.
  EXPECT_GT(send(fd, list_devices()), 0);
  std::vector<std::uint32_t> indices;
  std::vector<int> ends;
  for (Bytes bytes = receive(fd); !bytes.empty(); bytes = receive(fd)) {
    for (const Decoded& one : decoded(std::span(bytes))) {
      if (one.head.nlmsg_type >= NLMSG_MIN_TYPE) {
        indices.push_back(one.attributes().u32(RDMA_NLDEV_ATTR_DEV_INDEX));
      } else {
        ends.push_back(one.error());
      }
    }
    EXPECT_EQ(is_readable(fd), ends.size() < 2) << "what is left can be waited for";
  }
  ASSERT_EQ(indices.size(), 600u);
  for (std::uint32_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], i);
  EXPECT_EQ(ends, (std::vector<int>{0, EBUSY}));
  close(fd);
}

TEST_F(NetlinkSockets, LosesAnswersThatAProgramDoesNotReadAndSaysSo) {
  const int fd = open();
  for (int i = 0; i < 60000; ++i) ASSERT_GT(send(fd, ask_for_nothing()), 0);
  EXPECT_TRUE(receive(fd).empty());
  EXPECT_EQ(errno, ENOBUFS);
  std::size_t answers = receive_all(fd).size();
  EXPECT_GT(answers, 1000u);
  EXPECT_LT(answers, 60000u);
  send(fd, ask_for_nothing());
  EXPECT_EQ(receive_all(fd).size(), 1u);
  close(fd);
}

TEST_F(NetlinkSockets, HearsNoOtherProcess) {
  const int fd = open();
  send(fd, list_devices());
  receive_all(fd);
  sockaddr_nl own{};
  socklen_t size = sizeof own;
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size), 0);
  const int stranger = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
  EXPECT_LT(sendto(stranger, "lies", 4, 0, reinterpret_cast<const sockaddr*>(&own), size), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_TRUE(receive(fd).empty());
  close(stranger);
  close(fd);
}

TEST_F(NetlinkSockets, WakesAThreadThatWaits) {
  const int fd = open(SOCK_RAW);
  std::size_t size = 0;
  std::thread waiting([&] { size = receive(fd).size(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send(fd, list_devices());
  waiting.join();
  EXPECT_GT(size, 0u);
  close(fd);
}

TEST_F(NetlinkSockets, RefusesWhatItDoesNotOffer) {
  const int fd = open();
  EXPECT_LT(send(fd, list_devices(), 4711), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_LT(send(fd, list_devices(), 0, 1), 0);
  EXPECT_EQ(errno, EPERM);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;
  EXPECT_LT(sockets.bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(errno, EOPNOTSUPP);
  const int group = 4;
  EXPECT_LT(sockets.set_option(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group), 0);
  EXPECT_EQ(errno, EOPNOTSUPP);
  address.nl_groups = 0;
  EXPECT_EQ(sockets.connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  address.nl_pid = 4711;
  EXPECT_LT(sockets.connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_LT(send(fd, Bytes(1 << 24)), 0);
  EXPECT_EQ(errno, EMSGSIZE);
  close(fd);
}

TEST_F(NetlinkSockets, IsOfTheProtocolThatWasOpened) {
  const int fd = open();
  int protocol = 0;
  socklen_t size = sizeof protocol;
  EXPECT_EQ(sockets.get_option(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size), 0);
  EXPECT_EQ(protocol, NETLINK_RDMA);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  close(fd);
}

TEST_F(NetlinkSockets, KnowsASocketByAllItsDescriptors) {
  const int fd = open();
  const int again = dup(fd);
  EXPECT_TRUE(sockets.owns(again));
  sockets.before_close(fd);
  close(fd);
  EXPECT_TRUE(sockets.owns(again));
  send(again, list_devices());
  EXPECT_FALSE(receive(again).empty());
  sockets.before_close(again);
  close(again);
  const int other = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(other, fd) << "the number is used again";
  EXPECT_FALSE(sockets.owns(other));
  close(other);
}

TEST_F(NetlinkSockets, LeavesNoDescriptorBehind) {
  const auto count = [] {
    std::size_t descriptors = 0;
    for (int fd = 0; fd < 1024; ++fd) descriptors += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return descriptors;
  };
  const std::size_t before = count();
  const int fd = open();
  send(fd, list_devices());
  EXPECT_EQ(count(), before + 2);
  sockets.before_close(fd);
  close(fd);
  EXPECT_EQ(count(), before);
}

// daemon(3) and others close every descriptor that they do not know.
TEST_F(NetlinkSockets, AnswersAfterAProgramHasClosedWhatItDoesNotKnow) {
  const int fd = open();
  send(fd, list_devices());
  receive_all(fd);
  for (int other = 200; other < 220; ++other) close(other);
  send(fd, list_devices());
  EXPECT_FALSE(receive(fd).empty());
  // Its number may be another file's.
  for (int other = 200; other < 220; ++other) close(other);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  for (int other = 200; other < 220; ++other) ASSERT_EQ(dup2(ends[1], other), other);
  send(fd, list_devices());
  EXPECT_FALSE(receive(fd).empty());
  close(ends[1]);
  for (int other = 200; other < 220; ++other) close(other);
  EXPECT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "what is not ours gets nothing";
  close(ends[0]);
  close(fd);
}

TEST_F(NetlinkSockets, AnswersAChild) {
  show(1);
  const int fd = open();
  send(fd, list_devices());
  receive_all(fd);
  sockets.lock();
  const pid_t child = fork();
  if (child == 0) {
    sockets.become_child();
    sockets.unlock();
    send(fd, list_devices());
    _exit(receive_all(fd).size() == 2 ? 0 : 1);
  }
  sockets.unlock();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  send(fd, list_devices());
  EXPECT_EQ(receive_all(fd).size(), 2u);
  close(fd);
}

}  // namespace
}  // namespace urnic::netlink
