// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/host_switch.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/host/switch_connection.h"
#include "drivers/passed_descriptors.h"
#include "tests/support/value_of.h"
#include "tests/unit/drivers/light/host/running_switch.h"
#include "tests/unit/drivers/light/temporary_folder.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using namespace test;
using nic::rdma_cm::PortSpace;
namespace cm = nic::cm;
using ::testing::HasSubstr;

constexpr std::uint16_t kTcpSpace = 0x0106;

class HostSwitchTest : public testing::Test {
 protected:
  SwitchConnection connect() const {
    return urnic::test::value_of(SwitchConnection::connect(files_.control_socket));
  }
  /// The error of the answer; 0 without.
  static int ask(SwitchConnection& connection, const HostRequest& request) {
    const auto reply = connection.ask(request, 1s);
    return reply ? 0 : reply.error().code;
  }
  struct Member {
    SwitchConnection connection;
    SwitchConnection::Reply reply;

    unsigned slot() const { return reply.answer.slot; }
    int ipv4() const { return reply.descriptors.front().get(); }
    int handed_over() const { return reply.descriptors.back().get(); }
  };
  Member join() const {
    SwitchConnection connection = connect();
    auto reply = connection.ask({.kind = HostRequestKind::kJoin}, 1s);
    return {.connection = std::move(connection), .reply = urnic::test::value_of(std::move(reply))};
  }
  static HostRequest bind_request(std::uint16_t port, std::uint32_t id = 1) {
    return {.kind = HostRequestKind::kBind, .family = 6, .space = kTcpSpace, .port = port, .id = id};
  }
  static HostRequest listen_request(std::uint16_t port, std::uint32_t id = 1) {
    return {.kind = HostRequestKind::kListen, .space = kTcpSpace, .port = port, .id = id};
  }
  /// What comes within a second; empty when nothing does.
  static Bytes receive(int socket) {
    pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 1000) != 1) return {};
    Bytes bytes(2000);
    const ssize_t size = recv(socket, bytes.data(), bytes.size(), 0);
    bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return bytes;
  }
  std::string status() const {
    SwitchConnection connection = connect();
    const auto reply = connection.ask({.kind = HostRequestKind::kStatus}, 1s);
    if (!reply || reply.value().descriptors.size() != 1) return "";
    std::string text(100'000, '\0');
    const ssize_t size = pread(reply.value().descriptors[0].get(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  /// Until the request succeeds, two seconds at most: the switch notices ends of processes a little later.
  static bool succeeds_soon(SwitchConnection& connection, const HostRequest& request) {
    for (int i = 0; i < 200; ++i) {
      if (ask(connection, request) == 0) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  const TemporaryFolder folder_;
  const nic::SwitchFiles files_{.control_socket = folder_.file("host.sock"),
                                .lock = folder_.file("host.lock"),
                                .log = folder_.file("host.log")};
};

TEST_F(HostSwitchTest, GivesEachMemberASlotAndItsSockets) {
  const RunningSwitch host(files_);
  const Member one = join();
  const Member two = join();
  EXPECT_EQ(one.slot(), 1u);
  EXPECT_EQ(two.slot(), 2u);
  const LocalSender sender(true);
  const Bytes to_one = packet_to(0x010011);
  const Bytes to_two = packet_to(0x020011);
  sender.send(to_two, host.port());
  sender.send(to_one, host.port());
  EXPECT_EQ(receive(one.ipv4()), to_one);
  EXPECT_EQ(receive(two.ipv4()), to_two);
}

TEST_F(HostSwitchTest, GivesAPacketThatCameToTheWrongMemberToTheRightOne) {
  const RunningSwitch host(files_);
  Member one = join();
  Member two = join();
  const auto hand_on = [&](const Bytes& ib) {
    const Bytes packet = ip_packet(ib, kLocalIpv4, kLocalIpv4);
    EXPECT_EQ(send(one.handed_over(), packet.data(), packet.size(), 0), static_cast<ssize_t>(packet.size()));
    return packet;
  };
  const Bytes to_two = hand_on(packet_to(0x020011));
  EXPECT_EQ(receive(two.handed_over()), to_two);
  const Bytes answer = hand_on(packet_with(nic::cm::Rtu{.remote_id = nic::cm::CommunicationId{0x02000001}}));
  EXPECT_EQ(receive(two.handed_over()), answer);
  // A request finds who listens.
  ASSERT_EQ(ask(two.connection, bind_request(80)), 0);
  ASSERT_EQ(ask(two.connection, listen_request(80)), 0);
  const Bytes request = hand_on(packet_with(request_to(PortSpace::kTcp, 80)));
  EXPECT_EQ(receive(two.handed_over()), request);
  // No process has the third share; nor has one what is no packet at all.
  hand_on(packet_to(0x030011));
  EXPECT_EQ(send(one.handed_over(), "x", 1, 0), 1);
  const auto has_lost_it = [&] {
    return status().find(R"("strays":{"handed_over":2,"lost":1})") != std::string::npos;
  };
  for (int i = 0; i < 100 && !has_lost_it(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(has_lost_it()) << status();
}

TEST_F(HostSwitchTest, LetsMembersOfTheSwitchBeforeItJoinFirst) {
  std::optional<RunningSwitch> host(std::in_place, files_);
  Member one = join();
  Member two = join();
  host.reset();
  host.emplace(files_);
  const auto ask_to_join = [this](unsigned slot) {
    SwitchConnection connection = connect();
    const auto reply = connection.ask({.kind = HostRequestKind::kJoin, .id = slot}, 1s);
    return reply ? std::pair(0, int{reply.value().answer.slot}) : std::pair(reply.error().code, 0);
  };
  EXPECT_EQ(ask_to_join(0), std::pair(EAGAIN, 0));
  EXPECT_EQ(ask_to_join(2), std::pair(0, 2));
  EXPECT_EQ(ask_to_join(256), std::pair(EINVAL, 0));
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (ask_to_join(0).first == EAGAIN && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(ask_to_join(0), std::pair(0, 4)) << "1 and 2 rest, and so does 3, which has just been given back";
}

TEST_F(HostSwitchTest, IsOneForAHost) {
  const RunningSwitch host(files_);
  const auto other =
      HostSwitch::open({.files = files_, .start = SwitchStart::kOnDemand, .port = free_udp_port()});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, EBUSY);
  EXPECT_THAT(other.error().message, HasSubstr("the NIC of the host is served already by process"));
}

TEST_F(HostSwitchTest, HandsARequestToTheMemberThatListens) {
  const RunningSwitch host(files_);
  Member one = join();
  Member two = join();
  ASSERT_EQ(ask(two.connection, bind_request(80)), 0);
  ASSERT_EQ(ask(two.connection, listen_request(80)), 0);
  EXPECT_EQ(ask(one.connection, bind_request(80)), EADDRNOTAVAIL);
  for (const bool is_ipv4 : {true, false}) {
    if (!is_ipv4 && two.reply.answer.has_ipv6 == 0) continue;
    const LocalSender sender(is_ipv4);
    const Bytes sent = sender.send_with_icrc(packet_with(request_to(PortSpace::kTcp, 80)), host.port());
    const Bytes received = receive(two.handed_over());
    // The kernel filled in a TTL, and does not tell which.
    wire::Frame frame;
    ASSERT_FALSE(frame.read_ip_packet(received));
    EXPECT_EQ(frame.destination_gid(), is_ipv4 ? kLocalIpv4 : kLocalIpv6);
    EXPECT_TRUE(frame.icrc_ok());
    EXPECT_TRUE(std::equal(sent.end() - 290, sent.end(), received.end() - 290));
  }
}

TEST_F(HostSwitchTest, HandsAllMessagesOfAPeerOnInTheOrderInWhichTheyCame) {
  const RunningSwitch host(files_);
  Member one = join();
  ASSERT_EQ(ask(one.connection, bind_request(80)), 0);
  ASSERT_EQ(ask(one.connection, listen_request(80)), 0);
  const LocalSender sender(true);
  std::vector<Bytes> sent;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const nic::cm::CommunicationId own{0x01000000 + i};
    cm::Req request = request_to(PortSpace::kTcp, 80);
    request.local_id = nic::cm::CommunicationId{0x05000001 + i};
    sent.push_back(sender.send_with_icrc(packet_with(request), host.port()));
    sent.push_back(sender.send_with_icrc(packet_with(nic::cm::Rtu{.remote_id = own}), host.port()));
  }
  for (const Bytes& each : sent) {
    const Bytes received = receive(one.handed_over());
    ASSERT_GE(received.size(), 290u);
    EXPECT_TRUE(std::equal(each.end() - 290, each.end(), received.end() - 290));
  }
  EXPECT_THAT(status(), HasSubstr(R"("messages":{"handed_over":20,"lost":0})"));
}

TEST_F(HostSwitchTest, KeepsARequestUntilAMemberListens) {
  const RunningSwitch host(files_);
  const Member one = join();
  Member two = join();
  const LocalSender sender(true);
  // On a crowded machine an attempt may take longer than requests wait; then it shows nothing.
  for (std::uint16_t port = 80; port < 100; ++port) {
    ASSERT_EQ(ask(two.connection, bind_request(port)), 0);
    const auto began = std::chrono::steady_clock::now();
    sender.send_with_icrc(packet_with(request_to(PortSpace::kTcp, port)), host.port());
    std::this_thread::sleep_for(20ms);
    ASSERT_EQ(ask(two.connection, listen_request(port)), 0);
    if (std::chrono::steady_clock::now() - began > EarlyRequests::kPatience) continue;
    EXPECT_FALSE(receive(two.handed_over()).empty());
    return;
  }
  GTEST_SKIP() << "this machine is too slow";
}

TEST_F(HostSwitchTest, HasTheFirstMemberRefuseWhatNoneListensTo) {
  const RunningSwitch host(files_);
  const Member one = join();
  const Member two = join();
  const LocalSender sender(true);
  sender.send_with_icrc(packet_with(request_to(PortSpace::kTcp, 80)), host.port());
  EXPECT_FALSE(receive(one.handed_over()).empty());
}

TEST_F(HostSwitchTest, TakesPortsBackWhenTheyAreReleased) {
  const RunningSwitch host(files_);
  Member one = join();
  Member two = join();
  ASSERT_EQ(ask(one.connection, bind_request(80)), 0);
  HostRequest release = listen_request(80);
  release.kind = HostRequestKind::kRelease;
  ASSERT_TRUE(one.connection.tell(release, 1s));
  ASSERT_EQ(ask(one.connection, bind_request(81)),
            0);  // answered after the release: requests keep their order
  EXPECT_EQ(ask(two.connection, bind_request(80)), 0);
}

TEST_F(HostSwitchTest, TakesPortsBackWhenAConnectionEnds) {
  const RunningSwitch host(files_);
  Member two = join();
  {
    Member one = join();
    ASSERT_EQ(ask(one.connection, bind_request(80)), 0);
  }
  EXPECT_TRUE(succeeds_soon(two.connection, bind_request(80)));
  // Its slot rests meanwhile.
  EXPECT_EQ(join().slot(), 3u);
}

TEST_F(HostSwitchTest, TakesPortsBackFromAProcessWhoseChildHasTheConnection) {
  const RunningSwitch host(files_);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    auto connection = SwitchConnection::connect(files_.control_socket);
    const bool is_fine = connection &&
                         connection.value().ask({.kind = HostRequestKind::kJoin}, 1s).has_value() &&
                         connection.value().ask(bind_request(80), 1s).has_value();
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    const pid_t told = is_fine ? child : 0;
    [[maybe_unused]] const auto written = write(ready[1], &told, sizeof told);
    _exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(read(ready[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ASSERT_GT(child, 0);
  waitpid(process, nullptr, 0);
  Member two = join();
  EXPECT_TRUE(succeeds_soon(two.connection, bind_request(80)));
  kill(child, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(HostSwitchTest, HasSlotsFor255Members) {
  const RunningSwitch host(files_);
  std::vector<Member> members;
  for (unsigned slot = 1; slot <= 255; ++slot) {
    members.push_back(join());
    ASSERT_EQ(members.back().slot(), slot);
  }
  SwitchConnection late = connect();
  EXPECT_EQ(ask(late, {.kind = HostRequestKind::kJoin}), EUSERS);
  members.erase(members.begin() + 99);
  EXPECT_TRUE(succeeds_soon(late, {.kind = HostRequestKind::kJoin}));
  const LocalSender sender(true);
  sender.send(packet_to(0xff0011), host.port());
  EXPECT_EQ(receive(members.back().ipv4()), packet_to(0xff0011));
}

TEST_F(HostSwitchTest, SaysThatItLacksDescriptorsAndNotThatThereAreTooManyMembers) {
  const RunningSwitch host(files_);
  const Member one = join();
  SwitchConnection late = connect();
  ASSERT_EQ(ask(late, {.kind = HostRequestKind::kStatus}), 0);  // it has the connection
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor next(dup(STDERR_FILENO));
  const rlimit few{.rlim_cur = static_cast<rlim_t>(next.get()) + 4, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);  // two for the member's own pair, and one more
  const int failed = ask(late, {.kind = HostRequestKind::kJoin});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failed, EMFILE);
}

TEST_F(HostSwitchTest, RefusesValuesThatAreNone) {
  const RunningSwitch host(files_);
  Member one = join();
  const auto refuses = [&](auto change) {
    HostRequest request = bind_request(80);
    change(request);
    return ask(one.connection, request) == EINVAL;
  };
  EXPECT_TRUE(refuses([](HostRequest& request) { request.space = 0x0107; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.id = 0xffff; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.id = 0x10001; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.family = 0; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.family = 4; }));  // :: is no IPv4 address
  EXPECT_TRUE(refuses([](HostRequest& request) { request.address = kLocalIpv4.octets; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.may_be_shared = 2; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.is_family_only = 0x80; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.kind = HostRequestKind{0}; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.kind = HostRequestKind{200}; }));
  EXPECT_TRUE(refuses([](HostRequest& request) { request.kind = HostRequestKind::kListen; }));
  EXPECT_EQ(ask(one.connection, {.kind = HostRequestKind::kJoin}), EISCONN);
  EXPECT_EQ(ask(one.connection, bind_request(80)), 0);
}

TEST_F(HostSwitchTest, GivesPortsToMembersOnly) {
  const RunningSwitch host(files_);
  SwitchConnection guest = connect();
  EXPECT_EQ(ask(guest, bind_request(80)), ENOTCONN);
  EXPECT_EQ(ask(guest, listen_request(80)), ENOTCONN);
}

TEST_F(HostSwitchTest, TellsAnotherVersionThatItIsOne) {
  const RunningSwitch host(files_);
  SwitchConnection other = connect();
  const auto reply = other.ask({.version = kHostVersion + 1, .kind = HostRequestKind::kJoin}, 1s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, EPROTONOSUPPORT);
  EXPECT_THAT(reply.error().message, HasSubstr("another version"));
}

TEST_F(HostSwitchTest, EndsAConnectionThatSpeaksAnotherLanguage) {
  const RunningSwitch host(files_);
  for (const std::size_t bytes : {0u, 1u, 15u, 16u, 47u, 49u, 4000u}) {
    const Descriptor raw(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    files_.control_socket.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(raw.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string text(bytes, 'x');
    send(raw.get(), text.data(), text.size(), MSG_NOSIGNAL);
    pollfd waiting{.fd = raw.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&waiting, 1, 1000), 1) << bytes;
    EXPECT_NE(waiting.revents & POLLHUP, 0) << bytes;
  }
  EXPECT_EQ(join().slot(), 1u);
}

TEST_F(HostSwitchTest, ClosesDescriptorsThatAClientSends) {
  const RunningSwitch host(files_);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor raw(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  files_.control_socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(raw.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  HostRequest request{.kind = HostRequestKind::kJoin};
  iovec part{.iov_base = &request, .iov_len = sizeof request};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  passed.attach(header, {&ends[1], 1});
  ASSERT_GT(sendmsg(raw.get(), &header, 0), 0);
  close(ends[1]);
  // End of file: no process has the other end of the pipe any more.
  pollfd waiting{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waiting, 1, 1000), 1);
  close(ends[0]);
}

TEST_F(HostSwitchTest, TellsAboutItsMembers) {
  const RunningSwitch host(files_);
  Member one = join();
  ASSERT_EQ(ask(one.connection, bind_request(7174)), 0);
  ASSERT_EQ(ask(one.connection, listen_request(7174)), 0);
  const std::string text = status();
  EXPECT_THAT(text, HasSubstr("\"process\":" + std::to_string(getpid())));
  EXPECT_THAT(text, HasSubstr(R"("slot":1)"));
  EXPECT_THAT(text, HasSubstr(R"({"address":"::","listening":true,"port":7174,"space":"TCP"})"));
}

TEST_F(HostSwitchTest, EndsWhenItIsAskedTo) {
  RunningSwitch host(files_);
  SwitchConnection client = connect();
  EXPECT_EQ(ask(client, {.kind = HostRequestKind::kStop}), 0);
  host.wait_for_end();
  EXPECT_FALSE(std::filesystem::exists(files_.control_socket));
  const auto gone = SwitchConnection::connect(files_.control_socket);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ENOENT);
  EXPECT_EQ(ask(client, {.kind = HostRequestKind::kStatus}), EIO);
  EXPECT_TRUE(client.is_over());
}

TEST_F(HostSwitchTest, EndsAWhileAfterItsLastMember) {
  RunningSwitch host(files_, 300ms);
  {
    const Member one = join();
    std::this_thread::sleep_for(600ms);
    EXPECT_TRUE(std::filesystem::exists(files_.control_socket));
  }
  const auto began = std::chrono::steady_clock::now();
  host.wait_for_end();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 250ms);
}

TEST_F(HostSwitchTest, ComesBackUnderItsNameWhenTheSocketIsRemoved) {
  const RunningSwitch host(files_);
  const Member one = join();
  std::filesystem::remove(files_.control_socket);
  // A socket has its name a moment before it takes connections.
  for (int i = 0; i < 300 && !SwitchConnection::connect(files_.control_socket); ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(join().slot(), 2u);
}

}  // namespace
}  // namespace urnic::drivers
