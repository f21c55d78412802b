// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/lease.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "nic/host/lease_slots.h"
#include "nic/host/lock_file.h"
#include "nic/host/process_state.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::nic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;
using Side = PortSpec::VhostSide;

constexpr std::chrono::milliseconds kNotAtAll{0};

class LeaseTest : public tools::TemporaryEnvironment {
 protected:
  std::string socket() const { return folder() + "/wire.sock"; }
  PortSpec pair(Side side = Side::kFront) const {
    return {.kind = PortSpec::Kind::kVhost, .side = side, .target = socket()};
  }
  Lease::Request either_side() const {
    return {.port = pair(), .any_slot = true, .ipv4 = {}, .ipv6 = {}, .patience = kNotAtAll};
  }
  Lease::Request either_side(const char* ipv4) const {
    return {.port = pair(),
            .any_slot = true,
            .ipv4 = Ipv4Address::parse(ipv4),
            .ipv6 = {},
            .patience = kNotAtAll};
  }
  Lease::Request exported(const char* ipv4, Side side = Side::kFront) const {
    return {.port = pair(side),
            .any_slot = false,
            .ipv4 = Ipv4Address::parse(ipv4),
            .ipv6 = {},
            .patience = kNotAtAll};
  }
  Lease::Request only(Side side) const {
    return {.port = pair(side), .any_slot = false, .ipv4 = {}, .ipv6 = {}, .patience = kNotAtAll};
  }
};

/// What `question` answers in a child process that inherits all descriptors.
int answer_of_child(const std::function<int()>& question) {
  const pid_t child = fork();
  if (child == 0) _exit(question());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(LeaseTest, GivesTheFirstTheFrontAndTheSecondTheBack) {
  const auto first = Lease::take(either_side());
  const auto second = Lease::take(either_side());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().port().side, Side::kFront);
  EXPECT_EQ(first.value().ipv4(), Ipv4Address::parse("10.77.0.1"));
  EXPECT_EQ(second.value().port().side, Side::kBack);
  EXPECT_EQ(second.value().ipv4(), Ipv4Address::parse("10.77.0.2"));
}

TEST_F(LeaseTest, RefusesAThirdAndSaysWhoTheTwoAreAndHowToGoOn) {
  const auto first = Lease::take(either_side());
  const auto second = Lease::take(either_side());
  const auto third = Lease::take(either_side());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, EBUSY);
  EXPECT_THAT(third.error().message,
              AllOf(HasSubstr(std::to_string(getpid())), HasSubstr("--port vhost:PATH")));
}

TEST_F(LeaseTest, IsFreeAgainAfterItsHolder) {
  { const auto first = Lease::take(either_side()); }
  const auto next = Lease::take(either_side());
  ASSERT_TRUE(next);
  EXPECT_EQ(next.value().port().side, Side::kFront);
}

TEST_F(LeaseTest, IsFreeAgainAfterItsHolderWasKilled) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lease = Lease::take(either_side());
    [[maybe_unused]] const ssize_t written = write(pipe_fds[1], "x", 1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto next = Lease::take(either_side());
  ASSERT_TRUE(next);
  EXPECT_EQ(next.value().port().side, Side::kFront);
}

TEST_F(LeaseTest, WaitsForAHolderThatIsJustEnding) {
  auto first = Lease::take(only(Side::kFront));
  ASSERT_TRUE(first);
  const pid_t child = fork();
  if (child == 0) {  // holds the inherited lock a little longer than we do
    usleep(200'000);
    _exit(0);
  }
  first = Lease();
  Lease::Request patient = only(Side::kFront);
  patient.patience = std::chrono::seconds(5);
  EXPECT_TRUE(Lease::take(patient));
  waitpid(child, nullptr, 0);
}

TEST_F(LeaseTest, WaitsLongerForOthersThatLookForASlot) {
  auto guard = LockFile::open(LeaseSlots::of(pair()).value().guard, LockFile::Missing::kCreate);
  ASSERT_TRUE(guard && guard.value().try_lock());
  EXPECT_EQ(Lease::take(either_side()).error().code, EBUSY);
  std::thread others([&guard] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    guard.value() = LockFile();
  });
  Lease::Request patient = either_side();
  patient.patience = std::chrono::milliseconds(300);
  EXPECT_TRUE(Lease::take(patient));
  others.join();
}

TEST_F(LeaseTest, TakesTheSideThatWasAskedForAndNoOther) {
  const auto back = Lease::take(only(Side::kBack));
  ASSERT_TRUE(back);
  EXPECT_EQ(back.value().port().side, Side::kBack);
  EXPECT_EQ(back.value().ipv4(), Ipv4Address::parse("10.77.0.2"));
  const auto again = Lease::take(only(Side::kBack));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("the back"));
  EXPECT_TRUE(Lease::take(only(Side::kFront)));
}

TEST_F(LeaseTest, RefusesAnAddressThatThePeerHas) {
  const auto first = Lease::take(either_side("10.0.0.1"));
  const auto second = Lease::take(either_side("10.0.0.1"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_THAT(second.error().message, HasSubstr("10.0.0.1"));
  EXPECT_TRUE(Lease::take(either_side("10.0.0.2")));
}

TEST_F(LeaseTest, RefusesAnIpv6AddressThatThePeerHas) {
  Lease::Request request = either_side();
  request.ipv6 = Ipv6Address::parse("fd00::1");
  const auto first = Lease::take(request);
  const auto second = Lease::take(request);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("fd00::1"));
}

TEST_F(LeaseTest, ForgetsTheAddressOfAHolderThatIsGone) {
  { const auto first = Lease::take(either_side("10.0.0.1")); }
  EXPECT_TRUE(Lease::take(either_side("10.0.0.1")));
}

TEST_F(LeaseTest, FindsAnotherDefaultAddressWhenThePeerTookIt) {
  const auto first = Lease::take(either_side("10.77.0.2"));
  const auto second = Lease::take(either_side());
  ASSERT_TRUE(second);
  EXPECT_EQ(second.value().ipv4(), Ipv4Address::parse("10.77.0.1"));
}

TEST_F(LeaseTest, GivesAnInterfaceAsManyNicsAsHaveAddresses) {
  const PortSpec interface { .kind = PortSpec::Kind::kAfPacket, .side = Side::kFront, .target = "eth7" };
  std::vector<Lease> leases;
  for (const char* address : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) {
    auto lease = Lease::take({.port = interface,
                              .any_slot = false,
                              .ipv4 = Ipv4Address::parse(address),
                              .ipv6 = {},
                              .patience = kNotAtAll});
    ASSERT_TRUE(lease) << lease.error().message;
    leases.push_back(std::move(lease.value()));
  }
  EXPECT_FALSE(Lease::take({.port = interface,
                            .any_slot = false,
                            .ipv4 = Ipv4Address::parse("10.0.0.2"),
                            .ipv6 = {},
                            .patience = kNotAtAll}));
}

TEST_F(LeaseTest, NeedsNoSlotForLoopback) {
  const auto lease =
      Lease::take({.port = {}, .any_slot = false, .ipv4 = {}, .ipv6 = {}, .patience = kNotAtAll});
  ASSERT_TRUE(lease);
  EXPECT_FALSE(lease.value().is_held());
  EXPECT_TRUE(lease.value().ipv4());
}

TEST_F(LeaseTest, GoesOnInAProgramThatInheritsIt) {
  const auto lease = Lease::take(only(Side::kFront));
  ASSERT_TRUE(lease && lease.value().keep_over_exec());
  EXPECT_EQ(fcntl(lease.value().descriptor(), F_GETFD), 0) << "closed by exec";
  EXPECT_EQ(answer_of_child([&] { return Lease::adopt(exported("10.77.0.1")) ? 7 : 0; }), 7);
}

TEST_F(LeaseTest, GoesOnInAProgramThatDidNotInheritIt) {
  const auto lease = Lease::take(only(Side::kFront));
  ASSERT_TRUE(lease);
  EXPECT_EQ(answer_of_child([&] {
              close(lease.value().descriptor());
              return Lease::adopt(exported("10.77.0.1")) ? 7 : 0;
            }),
            7);
}

TEST_F(LeaseTest, IsNotAdoptedWhereTheSlotIsAnothers) {
  EXPECT_FALSE(Lease::adopt(exported("10.77.0.1"))) << "there has never been a lease";
  const auto lease = Lease::take(only(Side::kFront));
  ASSERT_TRUE(lease);
  EXPECT_FALSE(Lease::adopt(exported("10.77.0.1", Side::kBack))) << "the other side's slot";
  EXPECT_FALSE(Lease::adopt(exported("10.77.0.7"))) << "of a NIC with another address";
}

TEST_F(LeaseTest, IsAdoptedByOneProcessAtATime) {
  const auto lease = Lease::take(either_side());
  ASSERT_TRUE(lease);
  const auto adopts = [this] { return Lease::adopt(exported("10.77.0.1")) ? 1 : 0; };
  {
    const auto adopted = Lease::adopt(exported("10.77.0.1"));
    ASSERT_TRUE(adopted);
    EXPECT_EQ(answer_of_child(adopts), 0);
  }
  EXPECT_EQ(answer_of_child(adopts), 1);
}

TEST_F(LeaseTest, IsTakenAsLongAsWhoAdoptedItLives) {
  auto lease = Lease::take(only(Side::kFront));
  ASSERT_TRUE(lease);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto adopted = Lease::adopt(exported("10.77.0.1"));
    close(lease.value().descriptor());
    [[maybe_unused]] const ssize_t written = write(ready[1], "x", 1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  lease = Lease();
  const auto meanwhile = Lease::take(only(Side::kFront));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(meanwhile);
  EXPECT_TRUE(Lease::take(only(Side::kFront)));
}

// As a program that was killed, of which a thread is still giving memory back.
TEST_F(LeaseTest, WaitsForAHolderThatIsEnding) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lease = Lease::take(only(Side::kFront));
    std::thread([&] {
      [[maybe_unused]] const ssize_t written = write(ready[1], "x", 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      _exit(0);
    }).detach();
    syscall(SYS_exit, 0);  // this thread alone
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  while (!is_ending(child)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(Lease::take(only(Side::kFront)));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_ending(child));
  EXPECT_FALSE(is_ending(getpid()));
}

TEST_F(LeaseTest, RefusesAMacThatThePeerHas) {
  Lease::Request request = either_side();
  request.mac = Mac::parse("02:aa:00:00:00:01");
  const auto first = Lease::take(request);
  const auto second = Lease::take(request);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_THAT(second.error().message, HasSubstr("02:aa:00:00:00:01"));
}

TEST_F(LeaseTest, RefusesASlotFileThatIsALink) {
  ASSERT_EQ(symlink("/dev/null", (socket() + ".front").c_str()), 0);
  const auto lease = Lease::take(either_side());
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().message, HasSubstr(".front"));
}

TEST_F(LeaseTest, ReadsNothingIntoASlotFileFullOfRubbish) {
  const auto first = Lease::take(either_side());
  std::ofstream(socket() + ".front")
      << "ipv4 \nprocess 99999999999999999999\nipv6 fd00::zz\n\n ipv4 10.77.0.2";
  const auto second = Lease::take(either_side());
  ASSERT_TRUE(second);
  EXPECT_EQ(second.value().ipv4(), Ipv4Address::parse("10.77.0.2"));
}

TEST_F(LeaseTest, MakesItsMacFromTheAddress) {
  EXPECT_EQ(mac_for(Ipv4Address::parse("10.77.0.1"), {}), *Mac::parse("02:00:0a:4d:00:01"));
  const Mac one = mac_for({}, Ipv6Address::parse("fd00::1"));
  const Mac two = mac_for({}, Ipv6Address::parse("fd00::2"));
  EXPECT_NE(one, two);
  EXPECT_EQ(one, mac_for({}, Ipv6Address::parse("fd00::1")));
  EXPECT_EQ(one.octets[0], 0x02) << "locally administered, not a group";
}

class PrivateFolder : public tools::TemporaryEnvironment {};

TEST_F(PrivateFolder, IsMadeForItsOwnerAlone) {
  const auto path = private_folder();
  ASSERT_TRUE(path);
  EXPECT_EQ(path.value(), folder() + "/urnic");
  struct stat status {};
  ASSERT_EQ(stat(path.value().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
}

TEST_F(PrivateFolder, RefusesALink) {
  ASSERT_EQ(symlink("/tmp", (folder() + "/urnic").c_str()), 0);
  EXPECT_FALSE(private_folder());
}

TEST_F(PrivateFolder, RefusesAFolderThatOthersMayEnter) {
  ASSERT_EQ(mkdir((folder() + "/urnic").c_str(), 0755), 0);
  EXPECT_FALSE(private_folder());
}

TEST_F(PrivateFolder, IsBelowTmpWithoutARuntimeFolder) {
  setenv("XDG_RUNTIME_DIR", (folder() + "/nothing").c_str(), 1);
  const auto path = private_folder();
  ASSERT_TRUE(path);
  EXPECT_EQ(path.value(), "/tmp/urnic-" + std::to_string(geteuid()));
}

}  // namespace
}  // namespace urnic::nic
