// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The descriptor that a program gets in place of /dev/infiniband/rdma_cm.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/unit/verbs_api/edge_triggered_epoll.h"
#include "tests/unit/verbs_api/rdma_cm_objects.h"
#include "tests/unit/verbs_api/verbs_objects.h"
#include "verbs_api/rdma_cm/entry_points.h"

extern "C" {
// Exported, not declared in the installed header.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
}

namespace urnic::test {
namespace {

using namespace std::chrono_literals;

TEST(RdmaCmChannel, IsOwnedUntilItIsClosed) {
  const int fd = urnic_rdma_cm_open(O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(urnic_rdma_cm_owns(fd), 1);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  urnic_rdma_cm_close(fd);
  EXPECT_EQ(urnic_rdma_cm_owns(fd), 0);
  close(fd);
}

TEST(RdmaCmChannel, IsNoOtherDescriptor) {
  const CmChannel channel;
  errno = 0;
  for (const int fd : {-1, STDERR_FILENO, channel.fd() + 1, 1 << 16, 1 << 30}) {
    EXPECT_EQ(urnic_rdma_cm_owns(fd), 0) << fd;
    int handled = 1;
    urnic_rdma_cm_write(fd, "12345678", 8, &handled);
    EXPECT_EQ(handled, 0) << fd;
    urnic_rdma_cm_close(fd);
  }
  EXPECT_EQ(errno, 0);
}

TEST(RdmaCmChannel, IsNotTheFileThatGotItsNumberBehindOurBack) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  ASSERT_GE(fd, 0);
  const int other = open("/dev/null", O_WRONLY);
  ASSERT_EQ(dup2(other, fd), fd);
  EXPECT_EQ(urnic_rdma_cm_owns(fd), 0);
  int handled = 1;
  urnic_rdma_cm_write(fd, "12345678", 8, &handled);
  EXPECT_EQ(handled, 0);
  urnic_rdma_cm_close(fd);
  close(fd);
  close(other);
}

TEST(RdmaCmChannel, GivesUpThePortsOfChannelsThatWereClosedBehindOurBack) {
  const std::uint16_t port = 18000;
  const int fd = urnic_rdma_cm_open(O_RDWR);
  rdma_ucm_create_id_resp id{};
  struct {
    rdma_ucm_cmd_hdr header{.cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = sizeof(rdma_ucm_create_id), .out = 4};
    rdma_ucm_create_id command{};
  } create;
  create.command.uid = 1;
  create.command.response = reinterpret_cast<std::uintptr_t>(&id);
  create.command.ps = RDMA_PS_TCP;
  int handled = 0;
  ASSERT_EQ(urnic_rdma_cm_write(fd, &create, sizeof(create), &handled), static_cast<ssize_t>(sizeof(create)));
  struct {
    rdma_ucm_cmd_hdr header{.cmd = RDMA_USER_CM_CMD_BIND_IP, .in = sizeof(rdma_ucm_bind_ip), .out = 0};
    rdma_ucm_bind_ip command{};
  } bind;
  bind.command.id = id.id;
  const sockaddr_in address = ipv4(kOwnIpv4, port);
  std::memcpy(&bind.command.addr, &address, sizeof(address));
  ASSERT_EQ(urnic_rdma_cm_write(fd, &bind, sizeof(bind), &handled), static_cast<ssize_t>(sizeof(bind)));
  {
    CmChannel channel;
    EXPECT_EQ(channel.bind(channel.create(2), address), EADDRINUSE);
  }
  close(fd);
  CmChannel channel;
  EXPECT_EQ(channel.bind(channel.create(2), address), 0);
}

TEST(RdmaCmChannel, IsReadableWhileThereAreEvents) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  EXPECT_FALSE(channel.is_readable());
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  ASSERT_TRUE(channel.is_readable(5000));
  ASSERT_EQ(channel.resolve_route(id), 0);  // a second one
  channel.expect_event(kAddressResolved);
  EXPECT_TRUE(channel.is_readable());
  channel.expect_event(kRouteResolved);
  EXPECT_FALSE(channel.is_readable());
}

// Programs that fetch one event for each time that they are woken (Ceph's messenger does) would otherwise
// stop here.
TEST(RdmaCmChannel, WakesAnEdgeTriggeredEpollForEachEvent) {
  CmChannel channel;
  EdgeTriggeredEpoll epoll(channel.fd());
  const std::uint32_t id = channel.create(7);
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  ASSERT_TRUE(epoll.is_woken(5000ms));
  ASSERT_EQ(channel.resolve_route(id), 0);
  channel.expect_event(kAddressResolved);
  EXPECT_TRUE(epoll.is_woken(5000ms));
  channel.expect_event(kRouteResolved);
  EXPECT_FALSE(epoll.is_woken(0ms));
}

TEST(RdmaCmChannel, IsReadableWhileEventsComeThatNoProgramFetches) {
  CmChannel channel;
  constexpr int kMoreThanASocketHolds = 2000;
  for (int i = 0; i < kMoreThanASocketHolds; ++i) {
    ASSERT_EQ(channel.resolve(channel.create(7), ipv4(kOwnIpv4, 1)), 0);
  }
  for (int i = 0; i < kMoreThanASocketHolds; ++i) {
    EXPECT_TRUE(channel.is_readable());
    channel.expect_event(kAddressResolved);
  }
  EXPECT_FALSE(channel.is_readable());
}

TEST(RdmaCmChannel, IsNotReadableOnceTheIdOfTheEventsIsGone) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  ASSERT_TRUE(channel.is_readable(5000));
  std::uint32_t fetched = 9;
  EXPECT_EQ(channel.destroy(id, &fetched), 0);
  EXPECT_EQ(fetched, 0u);
  EXPECT_FALSE(channel.is_readable());
}

TEST(RdmaCmChannel, DoesNotWaitWhenTheProgramDoesNotWantTo) {
  CmChannel opened_so(O_NONBLOCK);
  rdma_ucm_event_resp event;
  EXPECT_EQ(opened_so.get_event(event), EAGAIN);
  CmChannel channel;
  ASSERT_EQ(fcntl(channel.fd(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(channel.get_event(event), EAGAIN);
}

TEST(RdmaCmChannel, WaitsForAnEvent) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  });
  rdma_ucm_event_resp event;
  EXPECT_EQ(channel.get_event(event), 0);
  EXPECT_EQ(event.event, std::uint32_t{kAddressResolved});
  EXPECT_EQ(event.uid, 7u);
  EXPECT_EQ(event.id, id);
  other.join();
}

TEST(RdmaCmChannel, LetsAThreadBeCancelledThatWaits) {
  CmChannel channel;
  pthread_t waiting{};
  ASSERT_EQ(pthread_create(
                &waiting, nullptr,
                [](void* argument) -> void* {
                  rdma_ucm_event_resp event;
                  static_cast<CmChannel*>(argument)->get_event(event);
                  return nullptr;
                },
                &channel),
            0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(pthread_cancel(waiting), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  // It held no lock.
  const std::uint32_t id = channel.create(7);
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  channel.expect_event(kAddressResolved);
}

/// A thread that asks for an event of a channel.
class WaitingThread {
 public:
  explicit WaitingThread(int fd) : fd_(fd) {
    EXPECT_EQ(pthread_create(&thread_, nullptr, &WaitingThread::wait, this), 0);
  }
  bool is_back() const { return is_back_; }
  /// Once the thread is back: what urnic_rdma_cm_write() said.
  int handled() const { return handled_; }
  void* cancel() {
    EXPECT_EQ(pthread_cancel(thread_), 0);
    return join();
  }
  void* join() {
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread_, &result), 0);
    return result;
  }

 private:
  // No object with a destructor in it: it may be cancelled.
  static void* wait(void* argument) {
    auto& self = *static_cast<WaitingThread*>(argument);
    rdma_ucm_event_resp event;
    struct {
      rdma_ucm_cmd_hdr header{
          .cmd = RDMA_USER_CM_CMD_GET_EVENT, .in = sizeof(rdma_ucm_get_event), .out = sizeof(event)};
      rdma_ucm_get_event command{};
    } get;
    get.command.response = reinterpret_cast<std::uintptr_t>(&event);
    int handled = 0;
    urnic_rdma_cm_write(self.fd_, &get, sizeof(get), &handled);
    self.handled_ = handled;
    self.is_back_ = true;
    return nullptr;
  }

  const int fd_;
  std::atomic<bool> is_back_{false};
  std::atomic<int> handled_{-1};
  pthread_t thread_{};
};

constexpr auto kAWhile = std::chrono::milliseconds(20);

// As the kernel does. rping closes the channel under its thread, and would take an answer for a failure.
TEST(RdmaCmChannel, LetsAThreadWaitOnWhenItIsClosed) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  WaitingThread thread(fd);
  std::this_thread::sleep_for(kAWhile);
  urnic_rdma_cm_close(fd);
  close(fd);
  std::this_thread::sleep_for(kAWhile);
  EXPECT_FALSE(thread.is_back());
  EXPECT_EQ(thread.cancel(), PTHREAD_CANCELED);
}

TEST(RdmaCmChannel, LetsAThreadWaitThatComesWhileItIsBeingClosed) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  urnic_rdma_cm_close(fd);
  WaitingThread thread(fd);
  std::this_thread::sleep_for(kAWhile);
  EXPECT_FALSE(thread.is_back());
  close(fd);
  std::this_thread::sleep_for(kAWhile);
  EXPECT_FALSE(thread.is_back());
  EXPECT_EQ(thread.cancel(), PTHREAD_CANCELED);
}

// The number may be any by then: the program has freed the memory that it is read from.
TEST(RdmaCmChannel, LetsAThreadWaitThatComesJustAfterItWasClosed) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  urnic_rdma_cm_close(fd);
  close(fd);
  WaitingThread thread(fd);
  WaitingThread with_another_number(1 << 30);
  std::this_thread::sleep_for(kAWhile);
  EXPECT_FALSE(thread.is_back());
  EXPECT_FALSE(with_another_number.is_back());
  EXPECT_EQ(thread.cancel(), PTHREAD_CANCELED);
  EXPECT_EQ(with_another_number.cancel(), PTHREAD_CANCELED);
}

TEST(RdmaCmChannel, LetsNoThreadWaitThatDoesNotWaitOtherwise) {
  const int fd = urnic_rdma_cm_open(O_RDWR | O_NONBLOCK);
  urnic_rdma_cm_close(fd);
  close(fd);
  WaitingThread thread(fd);
  thread.join();
  EXPECT_EQ(thread.handled(), 0);
}

TEST(RdmaCmChannel, LetsNoThreadWaitLongAfterItWasClosed) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  urnic_rdma_cm_close(fd);
  close(fd);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  WaitingThread thread(fd);
  thread.join();
  EXPECT_EQ(thread.handled(), 0);
}

TEST(RdmaCmChannel, LetsTheThreadThatClosedItGoOn) {
  const int fd = urnic_rdma_cm_open(O_RDWR);
  urnic_rdma_cm_close(fd);
  close(fd);
  const rdma_ucm_cmd_hdr header{.cmd = RDMA_USER_CM_CMD_GET_EVENT,
                                .in = sizeof(rdma_ucm_get_event),
                                .out = sizeof(rdma_ucm_event_resp)};
  std::array<std::byte, sizeof(header) + sizeof(rdma_ucm_get_event)> get{};
  std::memcpy(get.data(), &header, sizeof(header));
  int handled = 1;
  urnic_rdma_cm_write(fd, get.data(), get.size(), &handled);
  EXPECT_EQ(handled, 0);
}

TEST(RdmaCmChannel, KeepsAnEventThatCannotBeWritten) {
  CmChannel channel;
  const std::uint32_t id = channel.create(7);
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  ASSERT_TRUE(channel.is_readable(5000));
  rdma_ucm_get_event command{};
  command.response = 8;
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_GET_EVENT, command, sizeof(rdma_ucm_event_resp)), EFAULT);
  rdma_ucm_event_resp event;
  EXPECT_EQ(channel.get_event(event, offsetof(rdma_ucm_event_resp, reserved) - 1), ENOSPC);
  channel.expect_event(kAddressResolved);
}

TEST(RdmaCmChannel, WritesNoMoreThanThereIsRoomFor) {
  CmChannel channel;
  ASSERT_EQ(channel.resolve(channel.create(7), ipv4(kOwnIpv4, 1)), 0);
  ASSERT_TRUE(channel.is_readable(5000));
  rdma_ucm_event_resp event;
  std::memset(&event, 0xee, sizeof(event));
  ASSERT_EQ(channel.get_event(event, offsetof(rdma_ucm_event_resp, reserved)), 0);
  EXPECT_EQ(event.event, std::uint32_t{kAddressResolved});
  EXPECT_EQ(event.reserved, 0xeeeeeeee);
  EXPECT_EQ(event.ece.vendor_id, 0xeeeeeeee);
}

TEST(RdmaCmChannel, TakesIdsOfAnother) {
  CmChannel from;
  CmChannel to;
  const std::uint32_t id = from.create(7);
  ASSERT_EQ(from.resolve(id, ipv4(kOwnIpv4, 1)), 0);
  from.expect_event(kAddressResolved);
  ASSERT_EQ(from.resolve_route(id), 0);

  std::uint32_t fetched = 0;
  ASSERT_EQ(to.migrate(id, from.fd(), &fetched), 0);
  EXPECT_EQ(fetched, 1u);
  EXPECT_FALSE(from.is_readable());
  EXPECT_EQ(to.expect_event(kRouteResolved).uid, 7u);
  EXPECT_EQ(from.destroy(id), EINVAL);
  EXPECT_EQ(to.destroy(id), 0);

  EXPECT_EQ(to.migrate(id, STDERR_FILENO), EINVAL);
  EXPECT_EQ(to.migrate(id, -1), ENOENT);
}

TEST(RdmaCmChannel, TellsLibrdmacmWhichInterfaceItHas) {
  char text[8] = {};
  EXPECT_EQ(ibv_read_sysfs_file(ibv_get_sysfs_path(), "class/misc/rdma_cm/abi_version", text, sizeof(text)),
            1);
  EXPECT_STREQ(text, "4");
}

}  // namespace
}  // namespace urnic::test
