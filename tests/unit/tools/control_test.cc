#include "drivers/fabric/control.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "drivers/fabric/join.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::drivers {
namespace {

using ::testing::HasSubstr;

class ControlTest : public tools::TemporaryEnvironment {
 protected:
  ControlTest() : fabric_(nic::FabricFolder::open("test").value()) {}
  ~ControlTest() override { stop(); }

  /// Answers requests on another thread: "ok" with the request's own text, or refuses those that begin with
  /// "no".
  void serve() {
    socket_.emplace(std::move(ControlSocket::open(fabric_).value()));
    thread_ = std::thread([this] {
      while (!stopped_) {
        pollfd event{.fd = socket_->fd(), .events = POLLIN, .revents = 0};
        if (poll(&event, 1, 10) <= 0) continue;
        const auto request = socket_->receive();
        if (!request) continue;
        if (request->text().starts_with("no")) {
          request->refuse("it does not want to");
        } else {
          request->answer(request->text());
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
    fabric_.control_socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (!text.empty()) {
      EXPECT_EQ(send(connection.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    return connection;
  }

  nic::FabricFolder fabric_;
  std::optional<ControlSocket> socket_;
  std::thread thread_;
  std::atomic<bool> stopped_ = false;
};

TEST_F(ControlTest, CarriesARequestAndItsAnswer) {
  serve();
  const auto answer = ask_switch(fabric_, "port 3 4200");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer.value(), "port 3 4200");
}

TEST_F(ControlTest, CarriesARefusalInTheSwitchsWords) {
  serve();
  const auto answer = ask_switch(fabric_, "no");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, EIO);
  EXPECT_EQ(answer.error().message, "it does not want to");
}

TEST_F(ControlTest, SaysThatNobodyServes) {
  EXPECT_EQ(ask_switch(fabric_, "status").error().code, ENOENT);
  { const auto left_behind = ControlSocket::open(fabric_); }
  EXPECT_EQ(ask_switch(fabric_, "status").error().code, ENOENT) << "a socket file without a process";
}

TEST_F(ControlTest, ReplacesASocketThatWasLeftBehind) {
  { const auto left_behind = ControlSocket::open(fabric_); }
  serve();
  EXPECT_TRUE(ask_switch(fabric_, "status"));
}

TEST_F(ControlTest, OutlivesThoseWhoSayNothingOrTooMuchOrDoNotListen) {
  serve();
  connect("");                      // hangs up at once
  const auto silent = connect("");  // says nothing for a while
  connect(std::string(100'000, 'x'));
  connect("status");  // does not wait for the answer
  const auto answer = ask_switch(fabric_, "status");
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
  EXPECT_EQ(joined.value(), fabric_.port_socket(12));
}

}  // namespace
}  // namespace urnic::drivers
