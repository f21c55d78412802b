// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/switch_lock.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "drivers/fabric/control.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// What start on demand must not wait for: the time that a switch gets to end.
constexpr auto kPatience = 2s;

class SwitchLockTest : public tools::TemporaryEnvironment {
 protected:
  SwitchLockTest() : files_(nic::FabricFolder::open("test").value().files_of_switch(0)) {}

  auto take(SwitchStart start) { return take_switch_lock(files_, "test", 4200, start); }
  /// The same, with something that happens after a while.
  template <typename Event>
  auto take_while(SwitchStart start, Event event) {
    std::thread soon([event] {
      std::this_thread::sleep_for(50ms);
      event();
    });
    auto lock = take(start);
    soon.join();
    return lock;
  }
  /// As a switch that is about to take requests.
  void start_another() { another_.emplace(std::move(take(SwitchStart::kByHand).value())); }
  void have_it_take_requests() { socket_.emplace(std::move(ControlSocket::open(files_).value())); }
  void end_another() {
    socket_.reset();
    unlink(files_.control_socket.c_str());
    another_.reset();
  }

  nic::SwitchFiles files_;
  std::optional<nic::LockFile> another_;
  std::optional<ControlSocket> socket_;
};

TEST_F(SwitchLockTest, MakesThisProcessTheSwitch) {
  EXPECT_FALSE(nic::running_switch(files_));
  start_another();
  const auto found = nic::running_switch(files_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->process, getpid());
  EXPECT_EQ(found->link_mtu, 4200);
}

TEST_F(SwitchLockTest, OnDemandGivesWayAtOnceToOneThatTakesRequests) {
  start_another();
  have_it_take_requests();
  const auto started = std::chrono::steady_clock::now();
  const auto lock = take(SwitchStart::kOnDemand);
  EXPECT_LT(std::chrono::steady_clock::now() - started, kPatience);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, EBUSY);
  EXPECT_THAT(lock.error().message, HasSubstr("served already by process " + std::to_string(getpid())));
}

TEST_F(SwitchLockTest, OnDemandWaitsForOneThatIsAboutToTakeRequests) {
  start_another();
  const auto lock = take_while(SwitchStart::kOnDemand, [this] { have_it_take_requests(); });
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, EBUSY);
}

TEST_F(SwitchLockTest, OnDemandTakesThePlaceOfOneThatEnds) {
  start_another();
  EXPECT_TRUE(take_while(SwitchStart::kOnDemand, [this] { end_another(); }));
}

TEST_F(SwitchLockTest, ByHandWaitsForOneToEndThatStillTakesRequests) {
  start_another();
  have_it_take_requests();
  EXPECT_TRUE(take_while(SwitchStart::kByHand, [this] { end_another(); }));
}

TEST_F(SwitchLockTest, ByHandSaysInTheEndWhoIsTheSwitch) {
  start_another();
  const auto lock = take(SwitchStart::kByHand);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, EBUSY);
  EXPECT_THAT(lock.error().message, HasSubstr("'urnic fabric stop' ends it"));
}

}  // namespace
}  // namespace urnic::drivers
