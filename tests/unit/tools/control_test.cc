// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/control.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "drivers/fabric/join.h"
#include "nic/host/fabric_slots.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::drivers {
namespace {

using ::testing::HasSubstr;

class ControlTest : public tools::TemporaryEnvironment {
 protected:
  ControlTest() : fabric_(nic::FabricFolder::open("test").value()), files_(fabric_.files_of_switch(0)) {}
  ~ControlTest() override { stop(); }

  /// Answers requests on another thread: "ok" with what `reply` makes of the request, its own text by
  /// default, or refuses those that begin with "no".
  void serve(std::function<std::string(const std::string&)> reply = std::identity()) {
    socket_.emplace(std::move(ControlSocket::open(files_).value()));
    thread_ = std::thread([this, reply] {
      while (!stopped_) {
        pollfd event{.fd = socket_->fd(), .events = POLLIN, .revents = 0};
        if (poll(&event, 1, 10) <= 0) continue;
        const auto request = socket_->receive();
        if (!request) continue;
        if (request->text().starts_with("no")) {
          request->refuse("it does not want to");
        } else {
          request->answer(reply(request->text()));
        }
      }
    });
  }
  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Connects by hand and sends `text`, if there is any.
  Descriptor connect(const std::string& text) {
    Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    files_.control_socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (!text.empty()) {
      EXPECT_EQ(send(connection.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    return connection;
  }

  nic::FabricFolder fabric_;
  nic::SwitchFiles files_;  // of its first switch
  std::optional<ControlSocket> socket_;
  std::thread thread_;
  std::atomic<bool> stopped_ = false;
};

TEST_F(ControlTest, CarriesARequestAndItsAnswer) {
  serve();
  const auto answer = ask_switch(files_, "port 3 4200");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer.value(), "port 3 4200");
}

TEST_F(ControlTest, CarriesARefusalInTheSwitchsWords) {
  serve();
  const auto answer = ask_switch(files_, "no");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, EIO);
  EXPECT_EQ(answer.error().message, "it does not want to");
}

TEST_F(ControlTest, SaysThatNobodyServes) {
  EXPECT_EQ(ask_switch(files_, "status").error().code, ENOENT);
  { const auto left_behind = ControlSocket::open(files_); }
  EXPECT_EQ(ask_switch(files_, "status").error().code, ENOENT) << "a socket file without a process";
}

TEST_F(ControlTest, ReplacesASocketThatWasLeftBehind) {
  { const auto left_behind = ControlSocket::open(files_); }
  serve();
  EXPECT_TRUE(ask_switch(files_, "status"));
}

TEST_F(ControlTest, OutlivesThoseWhoSayNothingOrTooMuchOrDoNotListen) {
  serve();
  connect("");                      // hangs up at once
  const auto silent = connect("");  // says nothing for a while
  connect(std::string(100'000, 'x'));
  connect("status");  // does not wait for the answer
  const auto answer = ask_switch(files_, "status");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer.value(), "status");
}

TEST_F(ControlTest, JoiningSaysWhenTheSwitchCannotBeStarted) {
  const nic::PortSpec spec{.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = "test", .slot = 0};
  const auto joined = join_fabric(spec, 4200, "/nosuch/switch");
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("/nosuch/switch"));
}

TEST_F(ControlTest, JoiningAsksForThePortOfTheSlot) {
  serve();
  const nic::PortSpec spec{.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = "test", .slot = 12};
  const auto joined = join_fabric(spec, 4200, "/nosuch/switch");
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined.value().socket, fabric_.port_socket(12));
  EXPECT_FALSE(joined.value().is_switched);
}

TEST_F(ControlTest, JoiningSaysWhenANetworkLiesBetweenThePrograms) {
  serve([](const std::string&) { return std::string(kSwitchedPort); });
  const nic::PortSpec spec{.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = "test", .slot = 0};
  const auto joined = join_fabric(spec, 4200, "/nosuch/switch");
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_TRUE(joined.value().is_switched);
}

TEST_F(ControlTest, JoiningAsksTheSwitchThatTheSlotIsFor) {
  files_ = fabric_.files_of_switch(2);
  serve();
  const nic::PortSpec spec{.kind = nic::PortSpec::Kind::kFabric,
                           .side = {},
                           .target = "test",
                           .slot = nic::kFirstSwitchPorts + nic::kOtherSwitchPorts};
  const auto joined = join_fabric(spec, 4200, "/nosuch/switch");
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined.value().socket, fabric_.port_socket(spec.slot));
}

TEST_F(ControlTest, ASwitchAsksTheFirstOneForItsTrunk) {
  serve([](const std::string& request) { return request == "trunk 3" ? "1500" : request; });
  const auto trunk = join_first_switch("test", 3, "/nosuch/switch");
  ASSERT_TRUE(trunk) << trunk.error().message;
  EXPECT_EQ(trunk.value().socket, fabric_.trunk_socket(3));
  EXPECT_EQ(trunk.value().link_mtu, 1500);
}

TEST_F(ControlTest, ASwitchIsToldWhenTheFirstOneIsOfAnotherVersion) {
  serve();
  const auto trunk = join_first_switch("test", 3, "/nosuch/switch");
  ASSERT_FALSE(trunk);
  EXPECT_THAT(trunk.error().message, HasSubstr("of another version"));
}

}  // namespace
}  // namespace urnic::drivers
