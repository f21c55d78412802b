// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/membership.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "drivers/host/message.h"
#include "drivers/host/switch_connection.h"
#include "nic/host/host_files.h"
#include "tests/support/value_of.h"
#include "tests/unit/drivers/light/host/running_switch.h"
#include "tests/unit/drivers/light/temporary_folder.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::drivers {
namespace {

using namespace test;
using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::PortTable;
using nic::rdma_cm::SocketAddress;
using ::testing::HasSubstr;

/// Waits for what the watching thread does.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// A switch in a process of its own.
class StoppableSwitch {
 public:
  explicit StoppableSwitch(const nic::SwitchFiles& files) : process_(fork()) {
    if (process_ != 0) {
      EXPECT_TRUE(eventually([&] { return SwitchConnection::connect(files.control_socket).has_value(); }));
      return;
    }
    auto opened = HostSwitch::open({.files = files, .port = free_udp_port()});
    if (opened) opened.value()->serve(-1, std::nullopt);
    _exit(1);
  }
  ~StoppableSwitch() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  StoppableSwitch(const StoppableSwitch&) = delete;
  StoppableSwitch& operator=(const StoppableSwitch&) = delete;

  void stop() const {
    kill(process_, SIGSTOP);
    int status = 0;
    waitpid(process_, &status, WUNTRACED);
  }
  void go_on() const { kill(process_, SIGCONT); }

 private:
  const pid_t process_;
};

class MembershipTest : public tools::TemporaryEnvironment {
 protected:
  /// Of this test alone.
  static nic::SwitchFiles files_of_the_test() {
    nic::SwitchFiles files = nic::host_switch_files().value();
    files.shared_socket = fmt::format("@urnic-membership-test-{}", getpid());
    return files;
  }
  static auto try_to_join(const nic::SwitchFiles& files,
                          Membership::Reach reach = Membership::Reach::kThisHostAtLeast) {
    return Membership::join(files, "/nosuch/switch", reach);
  }
  std::unique_ptr<Membership> join() { return join(files_); }
  static std::unique_ptr<Membership> join(const nic::SwitchFiles& files) {
    return urnic::test::value_of(try_to_join(files));
  }
  static PortTable::Binding any(std::uint32_t id, std::uint16_t port) {
    return {.id = IdNumber{id},
            .address = {
                .family = SocketAddress::Family::kIpv4, .address = wire::Gid::from_ipv4({}), .port = port}};
  }

  const nic::SwitchFiles files_ = files_of_the_test();
  std::optional<RunningSwitch> host_{files_};
};

TEST_F(MembershipTest, HasAShareAndItsSockets) {
  const auto one = join();
  const auto two = join();
  EXPECT_EQ(one->share().bits, 8);
  EXPECT_EQ(one->share().value, 1);
  EXPECT_EQ(two->share().value, 2);
  ASSERT_TRUE(one->exchange()->has_news());
  const auto sockets = one->exchange()->take();
  ASSERT_TRUE(sockets);
  EXPECT_GE(sockets->ipv4.get(), 0);
  EXPECT_GE(sockets->handed_over.get(), 0);
  EXPECT_FALSE(one->exchange()->has_news());
}

TEST_F(MembershipTest, HasPortsThatNoOtherNicOfTheHostHas) {
  const auto one = join();
  const auto two = join();
  EXPECT_EQ(one->bind(PortSpace::kTcp, any(1, 80)).value(), 80);
  const auto taken = two->bind(PortSpace::kTcp, any(1, 80));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, EADDRNOTAVAIL);
  EXPECT_THAT(taken.error().message, HasSubstr("port TCP 80"));
  EXPECT_GE(two->bind(PortSpace::kTcp, any(2, 0)).value(), 32768);
  EXPECT_TRUE(one->listen(PortSpace::kTcp, 80, IdNumber{1}));
  one->release(PortSpace::kTcp, 80, IdNumber{1});
  EXPECT_TRUE(one->bind(PortSpace::kTcp, any(1, 81)));
  EXPECT_TRUE(two->bind(PortSpace::kTcp, any(1, 80)));
}

TEST_F(MembershipTest, HasPortsLentBeforeTheyAreWanted) {
  const auto one = join();
  const auto two = join();
  std::set<std::uint16_t> taken;
  // More than were lent at first: the others come in time.
  for (int i = 0; i < 3 * kLentPorts; ++i) {
    std::optional<std::uint16_t> port;
    ASSERT_TRUE(eventually([&] { return (port = one->take_lent(PortSpace::kTcp)).has_value(); }));
    EXPECT_TRUE(taken.insert(*port).second);
    EXPECT_FALSE(two->bind(PortSpace::kTcp, any(1, *port)));
  }
  one->give_back_lent(PortSpace::kTcp, *taken.begin());
  EXPECT_TRUE(eventually([&] { return one->take_lent(PortSpace::kTcp) == *taken.begin(); }));
  // One that it has taken becomes an id's, of this process alone.
  EXPECT_EQ(one->bind(PortSpace::kTcp, any(1, *taken.begin())).value(), *taken.begin());
  EXPECT_TRUE(one->listen(PortSpace::kTcp, *taken.begin(), IdNumber{1}));
}

TEST_F(MembershipTest, WaitsForASwitchThatIsStoppedOnlyWhereItSaysSo) {
  host_.reset();
  const StoppableSwitch host(files_);
  const auto one = join();
  const auto two = join();
  host.stop();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(one->take_lent(PortSpace::kTcp));
  one->release(PortSpace::kTcp, 80, IdNumber{1});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(500));
  const auto silent = one->bind(PortSpace::kTcp, any(1, 80));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, EIO);
  host.go_on();
  // What it heard too late is taken back.
  ASSERT_TRUE(eventually([&] { return one->bind(PortSpace::kTcp, any(2, 81)).has_value(); }));
  EXPECT_TRUE(eventually([&] { return two->bind(PortSpace::kTcp, any(1, 80)).has_value(); }));
}

TEST_F(MembershipTest, IsInOneNicWhateverFolderTheUserHas) {
  const auto one = join();
  const TemporaryFolder other;
  const auto two = join({.control_socket = other.file("host.sock"),
                         .lock = other.file("host.lock"),
                         .log = other.file("host.log"),
                         .shared_socket = files_.shared_socket});
  EXPECT_EQ(two->share().value, 2);
  EXPECT_EQ(two->control_socket(), one->control_socket()) << "links are found beside it";
}

TEST_F(MembershipTest, FindsTheSwitchByItsFileWhereItHasNoSharedName) {
  host_.reset();
  nic::SwitchFiles without = files_;
  without.shared_socket.clear();
  host_.emplace(without);
  EXPECT_EQ(join()->control_socket(), files_.control_socket);
}

TEST_F(MembershipTest, HasTheUdpPortOfItsSwitch) {
  const auto one = join();
  EXPECT_EQ(one->exchange()->udp_port(), host_->port());
}

TEST_F(MembershipTest, IsNoneWhereOtherHostsMustBeReachedAndTheSwitchDoesNot) {
  const auto joined = try_to_join(files_, Membership::Reach::kAllHosts);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, EADDRINUSE);
  EXPECT_THAT(joined.error().message, HasSubstr("other hosts do not reach"));
}

// As a program's call that comes just when the switch is killed.
TEST_F(MembershipTest, BindsAndListensAtTheNextSwitchWhenThisOneEnds) {
  const auto one = join();
  ASSERT_TRUE(one->bind(PortSpace::kTcp, any(1, 80)));
  host_.reset();
  std::thread next([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    host_.emplace(files_);
  });
  EXPECT_TRUE(one->listen(PortSpace::kTcp, 80, IdNumber{1}));
  EXPECT_TRUE(one->bind(PortSpace::kTcp, any(2, 81)));
  next.join();
  const auto two = join();
  for (const std::uint16_t port : {std::uint16_t{80}, std::uint16_t{81}}) {
    const auto taken = two->bind(PortSpace::kTcp, any(1, port));
    ASSERT_FALSE(taken) << port;
    EXPECT_EQ(taken.error().code, EADDRNOTAVAIL);
  }
}

TEST_F(MembershipTest, SaysThatTheSwitchHasEndedWhenNoNextOneComes) {
  const auto one = join();
  host_.reset();
  const auto bound = one->bind(PortSpace::kTcp, any(1, 80));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, EIO);
  EXPECT_THAT(bound.error().message, HasSubstr("the switch of the host has ended, and there is no next one"));
  one->release(PortSpace::kTcp, 80, IdNumber{1});
}

TEST_F(MembershipTest, HasItsShareAndPortsFromTheNextSwitch) {
  const auto one = join();
  const auto two = join();
  ASSERT_TRUE(two->bind(PortSpace::kTcp, any(1, 80)));
  ASSERT_TRUE(two->listen(PortSpace::kTcp, 80, IdNumber{1}));
  two->exchange()->take();
  host_.reset();
  host_.emplace(files_);
  const auto has_sockets_again = [&] {
    return two->exchange()->has_news() && two->exchange()->take().has_value();
  };
  ASSERT_TRUE(eventually(has_sockets_again));
  EXPECT_EQ(two->share().value, 2);
  // Others join later, and get what none of these has.
  const auto three = join();
  EXPECT_EQ(three->share().value, 3);
  const auto taken = three->bind(PortSpace::kTcp, any(1, 80));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, EADDRNOTAVAIL);
}

TEST_F(MembershipTest, GivesItsSocketsBackWhenTheSwitchHasEnded) {
  const auto one = join();
  ASSERT_TRUE(one->exchange()->take());
  host_.reset();
  ASSERT_TRUE(eventually([&] { return one->exchange()->has_news(); }));
  EXPECT_FALSE(one->exchange()->take());
}

TEST_F(MembershipTest, SaysOnceThatItStaysWithoutASwitchAndThatItHasOneAgain) {
  std::mutex mutex;
  std::vector<std::string> said;
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return said.size();
  };
  const auto one =
      urnic::test::value_of(Membership::join(files_, "/nosuch/switch", Membership::Reach::kThisHostAtLeast,
                                             Descriptor(), [&](const std::string& text) {
                                               const std::lock_guard lock(mutex);
                                               said.push_back(text);
                                             }));
  host_.reset();
  ASSERT_TRUE(eventually([&] { return count() == 1; }));
  EXPECT_THAT(said[0], HasSubstr("cannot start the switch, /nosuch/switch"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_EQ(count(), 1u);
  host_.emplace(files_);
  ASSERT_TRUE(eventually([&] { return count() == 2; }));
  EXPECT_THAT(said[1], HasSubstr("has a switch again"));
}

TEST_F(MembershipTest, StartsASwitchWhereNoneRuns) {
  host_.reset();
  const auto joined = try_to_join(files_);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, ENOENT);
  EXPECT_THAT(joined.error().message, HasSubstr("cannot start the switch, /nosuch/switch"));
}

}  // namespace
}  // namespace urnic::drivers
