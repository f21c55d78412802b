// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two processes on a vhost-user wire that both stay: frames, room, drops, waking.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class VhostWire : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("wire.sock");
};

Process::Body exchange(const nic::PortSpec& spec) {
  return caught([spec](const Process::Parent& parent) {
    const auto port = open(spec);
    parent.tell("open");
    return exchange_all_lengths(*port, kMinFrame, 0);
  });
}

TEST_F(VhostWire, CarriesFramesOfEveryLengthUnchangedFromFrontToBackAndBackAgain) {
  Process back(echo(back_of(path_)));
  Process front(exchange(front_of(path_)));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostWire, CarriesFramesOfEveryLengthUnchangedFromBackToFrontAndBackAgain) {
  Process front(echo(front_of(path_)));
  Process back(exchange(back_of(path_)));
  EXPECT_EQ(back.result(), "");
}

TEST_F(VhostWire, ComesUpWhicheverSideIsFirst) {
  for (const bool front_is_first : {true, false}) {
    const std::string path = folder_.path(front_is_first ? "front-first" : "back-first");
    Process first(exchange(front_is_first ? front_of(path) : back_of(path)));
    ASSERT_TRUE(first.says("open"));
    std::this_thread::sleep_for(300ms);
    Process second(echo(front_is_first ? back_of(path) : front_of(path)));
    EXPECT_EQ(first.result(), "") << path;
  }
}

TEST_F(VhostWire, CarriesFramesBetweenTwoPortsOfOneProcess) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    const auto front = open(front_of(path_));
    const auto back = open(back_of(path_));
    const auto frame = make_frame(kMaxFrame, 1);
    const auto end = Clock::now() + 3s;
    while (Clock::now() < end) {
      send(*front, frame);
      if (receive(*back, 10ms) != frame) continue;
      send(*back, frame);
      return receive(*front, kPatience) == frame ? "" : "nothing from back to front";
    }
    return "nothing from front to back";
  }));
  EXPECT_EQ(process.result(), "");
}

/// As long as the port waits for its first peer.
void wait_for_room(nic::PacketPort& port) {
  const auto end = Clock::now() + kPatience;
  while (port.reserve().empty()) {
    if (Clock::now() > end) throw std::runtime_error("the port takes no frames");
    std::this_thread::sleep_for(1ms);
  }
}

// The back is so late as one may be that looks for its front once a second.
TEST_F(VhostWire, TakesNoFrameBeforeItsFirstPeerIsThereAndLosesNoneThen) {
  for (const bool front_is_first : {true, false}) {
    const std::string path = folder_.path(front_is_first ? "front-first" : "back-first");
    Process first(caught([&](const Process::Parent& parent) -> std::string {
      const auto port = open(front_is_first ? front_of(path) : back_of(path));
      if (!port->reserve().empty()) return "takes a frame";
      parent.tell("open");
      wait_for_room(*port);
      send(*port, make_frame(100, 1));
      while (!port->is_drained()) port->flush();
      if (const auto dropped = port->statistics().dropped_frames) return fmt::format("{} dropped", dropped);
      parent.tell("sent");
      return receive(*port, kPatience) == make_frame(100, 2) ? "" : "no answer";
    }));
    ASSERT_TRUE(first.says("open"));
    std::this_thread::sleep_for(1200ms);
    Process second(caught([&](const Process::Parent&) -> std::string {
      const auto port = open(front_is_first ? back_of(path) : front_of(path));
      if (receive(*port, kPatience) != make_frame(100, 1)) return "the first frame is lost";
      send(*port, make_frame(100, 2));
      while (!port->is_drained()) port->flush();
      return "";
    }));
    EXPECT_TRUE(first.says("sent")) << path;
    EXPECT_EQ(first.result(), "") << path;
    EXPECT_EQ(second.result(), "") << path;
  }
}

TEST_F(VhostWire, TakesFramesWithoutAPeerAndCountsThemAsDropped) {
  for (const auto& spec : {front_of(path_), back_of(folder_.path("other.sock"))}) {
    Process process(caught([spec](const Process::Parent&) -> std::string {
      const auto port = open(spec);
      wait_for_room(*port);
      constexpr std::size_t kFrames = 1000;
      for (std::size_t i = 0; i < kFrames; ++i) {
        if (port->reserve().size() != kMaxFrame) return fmt::format("no room for frame {}", i);
        port->commit(100);
        if (i % 10 == 9) port->flush();
      }
      if (!port->is_drained()) return "not drained";
      const auto statistics = port->statistics();
      if (statistics.dropped_frames != kFrames) return fmt::format("{} dropped", statistics.dropped_frames);
      return statistics.sent_frames == 0 ? "" : "some were sent without a peer";
    }));
    EXPECT_EQ(process.result(), "") << spec.target;
  }
}

TEST_F(VhostWire, ReservesTheSameRoomUntilItIsCommitted) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    wait_for_room(*port);
    const auto first = port->reserve();
    if (first.size() != port->max_frame_bytes() || first.size() != kMaxFrame) return "a frame does not fit";
    if (reinterpret_cast<std::uintptr_t>(first.data()) % 2 != 0) return "misaligned";
    if (port->reserve().data() != first.data()) return "another room without commit";
    port->commit(kMinFrame);
    return port->reserve().data() != first.data() ? "" : "the same room after commit";
  }));
  EXPECT_EQ(process.result(), "");
}

void send_number(nic::PacketPort& port, std::uint32_t number) {
  auto room = port.reserve();
  while (room.empty()) {
    port.flush();
    room = port.reserve();
  }
  std::memcpy(room.data(), &number, sizeof(number));
  port.commit(60 + number % 4000);
}

// A peer that gets no processor for long may cost frames, but each is accounted for.
TEST_F(VhostWire, KeepsFramesInOrderAndHasCountedThemOnBothSidesOnceItIsDrained) {
  const std::string all_sent = folder_.path("all-sent");
  Process back(caught([&](const Process::Parent& parent) -> std::string {
    const auto port = open(back_of(path_));
    std::array<nic::ReceivedFrame, 32> frames;
    std::uint32_t last = 0;
    for (bool more = true; more;) {
      more = !std::filesystem::exists(all_sent);
      while (const std::size_t count = port->receive(frames)) {
        for (std::size_t i = 0; i < count; ++i) {
          std::uint32_t number = 0;
          std::memcpy(&number, frames[i].data(), sizeof(number));
          if (number <= last) return fmt::format("frame {} came after frame {}", number, last);
          if (frames[i].size() != 60 + number % 4000) return "wrong length";
          last = number;
        }
      }
    }
    parent.tell(fmt::format("{} frames", port->statistics().received_frames));
    return "";
  }));
  Process front(caught([&](const Process::Parent& parent) -> std::string {
    const auto port = open(front_of(path_));
    std::uint32_t number = 1;
    for (std::uint32_t end = 100'000; number < end; ++number) {
      send_number(*port, number);
      if (number % 16 == 0) port->flush();
      if (port->statistics().sent_frames == 0) end = number + 100'000;  // no peer yet
    }
    do {
      port->flush();
    } while (!port->is_drained());
    std::ofstream(all_sent) << "yes";
    const auto statistics = port->statistics();
    parent.tell(fmt::format("{} frames", statistics.sent_frames));
    if (statistics.sent_frames == 0) return "none sent";
    return statistics.sent_frames + statistics.dropped_frames == number - 1 ? "" : "miscounted";
  }));
  // With little of a processor for each, they take turns of a ring's length.
  const auto sent = front.next_line(6 * kPatience);
  EXPECT_EQ(sent, back.next_line());
  EXPECT_EQ(front.result(), "");
  EXPECT_EQ(back.result(), "");
}

TEST_F(VhostWire, PressesBackWhenThePeerStopsAndDropsAfterAWhile) {
  for (const bool front_sends : {true, false}) {
    const std::string path = folder_.path(front_sends ? "front-sends" : "back-sends");
    Process peer(echo(front_sends ? back_of(path) : front_of(path)));
    Process sender(caught([&](const Process::Parent& parent) -> std::string {
      const auto port = open(front_sends ? front_of(path) : back_of(path));
      if (!reach_peer(*port, kPatience)) return "no peer";
      kill(peer.pid(), SIGSTOP);
      std::this_thread::sleep_for(50ms);
      const auto before = port->statistics();
      std::size_t taken = 0;
      while (!port->reserve().empty()) {
        port->commit(1000);
        port->flush();
        if (++taken > 10'000) return "never full";
      }
      if (port->statistics().dropped_frames != before.dropped_frames) return "dropped too early";
      if (front_sends && port->is_drained()) return "drained, says the front";
      const auto full_since = Clock::now();
      while (port->reserve().empty()) {
        port->flush();
        if (Clock::now() - full_since > 1s) return "full without end";
      }
      if (Clock::now() - full_since < 50ms) return "no patience";
      if (port->statistics().dropped_frames == before.dropped_frames) return "dropped none";
      parent.tell("stuck");
      while (!receive(*port, 100ms).empty()) {
      }
      return reach_peer(*port, kPatience) ? "" : "the peer does not come back";
    }));
    EXPECT_TRUE(sender.says("stuck"));
    peer.signal(SIGCONT);
    EXPECT_EQ(sender.result(), "") << path;
  }
}

// As on a crowded machine, where a peer waits for its turn.
TEST_F(VhostWire, LosesNothingToAPeerThatTakesNothingForHalfASecond) {
  constexpr std::uint32_t kFrames = 2000;
  for (const bool front_sends : {true, false}) {
    const std::string path = folder_.path(front_sends ? "front-sends" : "back-sends");
    Process slow(caught([&](const Process::Parent& parent) -> std::string {
      const auto port = open(front_sends ? back_of(path) : front_of(path));
      if (receive(*port, kPatience).empty()) return "no peer";
      parent.tell("reached");
      std::this_thread::sleep_for(500ms);
      for (std::uint32_t number = 0; number < kFrames; ++number) {
        auto frame = receive(*port, kPatience);
        while (frame.size() == kMinFrame) frame = receive(*port, kPatience);  // it looked for us with these
        if (frame != make_frame(100, number)) return fmt::format("frame {} is lost", number);
      }
      return "";
    }));
    Process sender(caught([&](const Process::Parent& parent) -> std::string {
      const auto port = open(front_sends ? front_of(path) : back_of(path));
      while (port->statistics().sent_frames == 0) send(*port, make_frame(kMinFrame, 0));
      const auto dropped = port->statistics().dropped_frames;
      for (std::uint32_t number = 0; number < kFrames; ++number) send(*port, make_frame(100, number));
      if (port->statistics().dropped_frames != dropped) return "some are dropped";
      parent.tell("sent");
      while (true) port->flush();
    }));
    EXPECT_EQ(slow.result(), "") << path;
    EXPECT_TRUE(sender.says("sent")) << path;
  }
}

// The child sleeps on the port's descriptor while its peer sends now and then, with the time inside.
Process::Body sleeper(const nic::PortSpec& spec) {
  return caught([spec](const Process::Parent& parent) -> std::string {
    const auto port = open(spec);
    if (port->wake_fd() < 0) return "there is no descriptor";
    parent.tell("open");
    int woken_by_frames = 0;
    const auto end = Clock::now() + 10s;
    while (woken_by_frames < 5 && Clock::now() < end) {
      pollfd wake{.fd = port->wake_fd(), .events = POLLIN, .revents = 0};
      if (!port->arm()) poll(&wake, 1, 5000);
      const auto woken = Clock::now();
      port->disarm();
      const auto frame = receive(*port, 0ms);
      if (frame.empty()) continue;
      Clock::time_point sent;
      std::memcpy(&sent, frame.data(), sizeof(sent));
      if (woken - sent > 100ms) return fmt::format("woken after {} ms", (woken - sent) / 1ms);
      ++woken_by_frames;
    }
    if (woken_by_frames < 5) return "never woken";
    // Quiet now: a descriptor that is readable all the time would keep the NIC awake.
    while (port->arm()) receive(*port, 0ms);
    pollfd wake{.fd = port->wake_fd(), .events = POLLIN, .revents = 0};
    poll(&wake, 1, 50);
    port->arm();
    return poll(&wake, 1, 200) == 0 ? "" : "woken by nothing";
  });
}

Process::Body slow_sender(const nic::PortSpec& spec, int frames) {
  return caught([spec, frames](const Process::Parent& parent) -> std::string {
    const auto port = open(spec);
    for (int i = 0; i < frames;) {
      std::this_thread::sleep_for(40ms);
      const auto now = Clock::now();
      std::vector<std::byte> frame(64);
      std::memcpy(frame.data(), &now, sizeof(now));
      const auto before = port->statistics().sent_frames;
      send(*port, frame);
      if (port->statistics().sent_frames > before) ++i;
    }
    parent.tell("sent");
    while (true) pause();
  });
}

TEST_F(VhostWire, WakesASleepingFrontWithinTheTenthOfASecond) {
  Process front(sleeper(front_of(path_)));
  Process back(slow_sender(back_of(path_), 5));
  EXPECT_EQ(front.result(), "");
}

TEST_F(VhostWire, WakesASleepingBackWithinTheTenthOfASecond) {
  Process back(sleeper(back_of(path_)));
  Process front(slow_sender(front_of(path_), 5));
  EXPECT_EQ(back.result(), "");
}

TEST_F(VhostWire, WakesASleeperForTheFramesOfANewPeer) {
  for (const bool front_sleeps : {true, false}) {
    const std::string path = folder_.path(front_sleeps ? "front-sleeps" : "back-sleeps");
    const auto peer = front_sleeps ? back_of(path) : front_of(path);
    Process asleep(sleeper(front_sleeps ? front_of(path) : back_of(path)));
    ASSERT_TRUE(asleep.says("open"));
    {
      Process first(slow_sender(peer, 2));
      ASSERT_TRUE(first.says("sent"));
      std::this_thread::sleep_for(50ms);
    }
    Process second(slow_sender(peer, 3));
    EXPECT_EQ(asleep.result(), "") << path;
  }
}

TEST_F(VhostWire, DropsAFrameThatIsTooLongForTheReceiverAndGoesOn) {
  Process peer(echo(back_of(path_)));
  Process long_sender(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_), 9000);
    if (!reach_peer(*port, kPatience)) return "no peer";
    for (int i = 0; i < 10; ++i) send(*port, make_frame(9014, 1));
    const auto frame = make_frame(100, 2);
    send(*port, frame);
    return receive(*port, kPatience) == frame ? "" : "the next frame is lost";
  }));
  EXPECT_EQ(long_sender.result(), "");

  const std::string path = folder_.path("other.sock");
  Process front(echo(front_of(path)));
  Process long_back(caught([path](const Process::Parent&) -> std::string {
    const auto port = open(back_of(path), 9000);
    if (!reach_peer(*port, kPatience)) return "no peer";
    for (int i = 0; i < 10; ++i) send(*port, make_frame(9014, 1));
    const auto frame = make_frame(100, 2);
    send(*port, frame);
    return receive(*port, kPatience) == frame ? "" : "the next frame is lost";
  }));
  EXPECT_EQ(long_back.result(), "");
}

// With DPDK 24.11 it took a second: the end of every program on a fabric.
TEST_F(VhostWire, ClosesWithoutWaitingForTheLibrarysClock) {
  Process front(echo(front_of(path_)));
  Process back(caught([this](const Process::Parent&) -> std::string {
    auto port = open(back_of(path_));
    if (!reach_peer(*port, kPatience)) return "no peer";
    std::this_thread::sleep_for(50ms);  // then the library waits for the next event
    const auto began = Clock::now();
    port.reset();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    return took < 300ms ? "" : fmt::format("{} ms", took.count());
  }));
  EXPECT_EQ(back.result(), "");
}

}  // namespace
}  // namespace urnic::drivers
