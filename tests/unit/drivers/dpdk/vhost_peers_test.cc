// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Peers that die, stop and come back.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <thread>

#include "tests/unit/drivers/dpdk/hand_made_back.h"
#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class VhostPeers : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("wire.sock");
};

// Sends at full speed without end, and tells "peer N" when a process N begins to answer.
Process::Body survivor(const nic::PortSpec& spec) {
  return caught([spec](const Process::Parent& parent) -> std::string {
    const auto port = open(spec);
    parent.tell("open");
    auto frame = make_frame(kMaxFrame, 0);
    frame[0] = kStampMe;
    pid_t last_peer = 0;
    std::array<nic::ReceivedFrame, 64> frames;
    while (true) {
      for (int i = 0; i < 16; ++i) {
        const auto room = port->reserve();
        if (room.empty()) break;
        std::copy(frame.begin(), frame.end(), room.begin());
        port->commit(frame.size());
      }
      port->flush();
      const std::size_t count = port->receive(frames);
      for (std::size_t i = 0; i < count; ++i) {
        if (frames[i].size() != frame.size()) return "a frame has another length";
        pid_t peer = 0;
        std::memcpy(&peer, &frames[i][4], sizeof(peer));
        if (peer == last_peer) continue;
        last_peer = peer;
        parent.tell(fmt::format("peer {}", peer));
      }
    }
  });
}

void kill_peers_of(const nic::PortSpec& surviving, const nic::PortSpec& dying, int times) {
  Process survives(survivor(surviving));
  ASSERT_TRUE(survives.says("open"));
  std::minstd_rand random(1);
  std::chrono::milliseconds worst{0};
  for (int i = 0; i < times; ++i) {
    Process dies(echo(dying));
    ASSERT_TRUE(dies.says("open")) << "life " << i;
    const auto opened = Clock::now();
    ASSERT_TRUE(survives.says(fmt::format("peer {}", dies.pid()), 2s))
        << "life " << i << ": " << survives.result(10ms);
    worst = std::max(worst, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - opened));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    dies.kill();
  }
  testing::Test::RecordProperty("worst_reconnection_ms", static_cast<int>(worst.count()));
}

// The front's thread that serves peers reports a peer only after its last answer, and may wait for its turn.
// A frame that a switch drops there is lost for good where a queue pair has no ACK timeout.
TEST_F(VhostPeers, AreAnsweredBeforeTheFrontHasReportedThem) {
  Process front(echo(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  HandMadeBack back(path_);
  const auto question = make_frame(100, 1);
  std::vector<std::byte> answer;
  ASSERT_TRUE(back.shake_hands([&] {
    if (back.send(question)) answer = back.receive(900ms);  // the front waits for a second
  }));
  EXPECT_EQ(answer, question);
}

TEST_F(VhostPeers, AFrontSurvivesTwentyKillsOfItsBackAndReachesEachNewOneWithinTwoSeconds) {
  kill_peers_of(front_of(path_), back_of(path_), 20);
}

TEST_F(VhostPeers, ABackSurvivesTwentyKillsOfItsFrontAndReachesEachNewOneWithinTwoSeconds) {
  kill_peers_of(back_of(path_), front_of(path_), 20);
}

TEST_F(VhostPeers, ASurvivorSurvivesKillsInTheMiddleOfTheHandshake) {
  for (const bool front_survives : {true, false}) {
    const std::string path = folder_.path(front_survives ? "front" : "back");
    const auto surviving = front_survives ? front_of(path) : back_of(path);
    const auto dying = front_survives ? back_of(path) : front_of(path);
    Process survives(survivor(surviving));
    ASSERT_TRUE(survives.says("open"));
    for (int i = 0; i < 10; ++i) {
      Process dies(echo(dying));
      ASSERT_TRUE(dies.says("open"));
      std::this_thread::sleep_for(std::chrono::microseconds(i * 1000));
    }
    Process lives(echo(dying));
    EXPECT_TRUE(survives.says(fmt::format("peer {}", lives.pid()))) << path << survives.result(10ms);
  }
}

TEST_F(VhostPeers, ABackThatWaitsFindsItsFrontInMuchLessThanASecond) {
  Process back(echo(back_of(path_)));
  ASSERT_TRUE(back.says("open"));
  Process front(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    const auto start = Clock::now();
    if (!reach_peer(*port, kPatience)) return "no peer";
    const auto waited = Clock::now() - start;
    return waited < 700ms ? "" : fmt::format("it took {} ms", waited / 1ms);
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostPeers, ANewFrontTakesOverTheSocketOfADeadOne) {
  {
    Process dies(echo(front_of(path_)));
    ASSERT_TRUE(dies.says("open"));
  }
  ASSERT_TRUE(std::filesystem::is_socket(path_));
  Process back(echo(back_of(path_)));
  Process front(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    return reach_peer(*port, kPatience) ? "" : "no peer";
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostPeers, AFrontThatIsClosedTakesItsSocketAwayAndLeavesNothingElse) {
  Process front(caught([this](const Process::Parent&) -> std::string {
    auto port = open(front_of(path_));
    if (!std::filesystem::is_socket(path_)) return "there is no socket";
    port.reset();
    return std::filesystem::is_empty(folder_.path()) ? "" : "something is left";
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostPeers, ClosingDoesNotWaitForAPeerThatIsDeadOrStopped) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    for (const bool front_closes : {true, false}) {
      const std::string path = folder_.path(fmt::format("{}-{}", signal, front_closes));
      Process peer(echo(front_closes ? back_of(path) : front_of(path)));
      Process closes(caught([&](const Process::Parent&) -> std::string {
        auto port = open(front_closes ? front_of(path) : back_of(path));
        if (!reach_peer(*port, kPatience)) return "no peer";
        kill(peer.pid(), signal);
        for (int i = 0; i < 10; ++i) send(*port, make_frame(100, 0));
        const auto start = Clock::now();
        port.reset();
        if (Clock::now() - start > 3s) return "it takes long";
        port = open(front_closes ? front_of(folder_.path("new")) : back_of(folder_.path("new")));
        return "";
      }));
      EXPECT_EQ(closes.result(), "") << "signal " << signal << (front_closes ? " front" : " back");
    }
  }
}

// Connects like a back and then says nothing.
class Stranger {
 public:
  explicit Stranger(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("cannot connect");
    }
  }
  ~Stranger() { close(fd_); }

 private:
  int fd_;
};

TEST_F(VhostPeers, AFrontCanBeClosedWhileAStrangerKeepsItWaiting) {
  Process front(caught([this](const Process::Parent&) -> std::string {
    auto port = open(front_of(path_));
    const Stranger stranger(path_);
    std::this_thread::sleep_for(50ms);
    const auto start = Clock::now();
    port.reset();
    if (Clock::now() - start > 3s) return "it takes long";
    port = open(front_of(path_));
    return "";
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostPeers, AFrontTalksToABackThatComesAfterAStranger) {
  Process front(caught([this](const Process::Parent& parent) -> std::string {
    const auto port = open(front_of(path_));
    { const Stranger gone_at_once(path_); }
    {
      const Stranger stays_a_while(path_);
      parent.tell("open");
      std::this_thread::sleep_for(200ms);
    }
    return reach_peer(*port, kPatience) ? "" : "no peer";
  }));
  ASSERT_TRUE(front.says("open"));
  Process back(echo(back_of(path_)));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostPeers, ASecondBackTakesOverWhenTheFirstDies) {
  Process front(survivor(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  Process first(echo(back_of(path_)));
  ASSERT_TRUE(front.says(fmt::format("peer {}", first.pid())));
  Process second(echo(back_of(path_)));
  ASSERT_TRUE(second.says("open"));
  std::this_thread::sleep_for(200ms);
  first.kill();
  EXPECT_TRUE(front.says(fmt::format("peer {}", second.pid()), 2s)) << front.result(10ms);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

TEST_F(VhostPeers, OpeningAndClosingOverAndOverLeavesNoDescriptorsBehind) {
  for (const bool front : {true, false}) {
    Process peer(echo(front ? back_of(path_) : front_of(path_)));
    Process process(caught([&](const Process::Parent&) -> std::string {
      std::size_t descriptors = 0;
      for (int i = 0; i < 10; ++i) {
        const auto port = open(front ? front_of(path_) : back_of(path_));
        if (!reach_peer(*port, kPatience)) return "no peer";
        if (i == 1) descriptors = open_descriptors();
      }
      const auto port = open(front ? front_of(path_) : back_of(path_));
      if (!reach_peer(*port, kPatience)) return "no peer";
      return open_descriptors() <= descriptors
                 ? ""
                 : fmt::format("{} descriptors instead of {}", open_descriptors(), descriptors);
    }));
    EXPECT_EQ(process.result(), "") << (front ? "front" : "back");
  }
}

TEST_F(VhostPeers, AProgramsChildDoesNotKeepItsConnectionAlive) {
  for (const bool front_dies : {true, false}) {
    const std::string path = folder_.path(front_dies ? "front" : "back");
    Process survives(survivor(front_dies ? back_of(path) : front_of(path)));
    pid_t grandchild = 0;
    Process dies(caught([&](const Process::Parent& parent) -> std::string {
      const auto port = open(front_dies ? front_of(path) : back_of(path));
      if (receive(*port, kPatience).empty()) return "no peer";
      const pid_t child = fork();
      if (child == 0) {
        execlp("sleep", "sleep", "20", nullptr);
        _exit(1);
      }
      std::this_thread::sleep_for(100ms);  // until it executes
      parent.tell(fmt::format("{}", child));
      while (true) pause();
    }));
    const auto line = dies.next_line();
    ASSERT_TRUE(line.has_value());
    ASSERT_FALSE(line->starts_with("result")) << *line;
    grandchild = std::stoi(*line);
    dies.kill();
    Process second(echo(front_dies ? front_of(path) : back_of(path)));
    EXPECT_TRUE(survives.says(fmt::format("peer {}", second.pid()))) << path << survives.result(10ms);
    ::kill(grandchild, SIGKILL);
  }
}

}  // namespace
}  // namespace urnic::drivers
