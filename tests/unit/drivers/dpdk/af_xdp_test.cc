// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ports through AF_XDP: a veth pair in a network namespace of the test's own.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "drivers/af_xdp/af_xdp_port.h"
#include "tests/unit/drivers/dpdk/traffic.h"
#include "tests/unit/drivers/dpdk/wire_namespace.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kMtu = kMaxAfXdpMtu;
constexpr std::size_t kLargestFrame = kMtu + 14;

std::unique_ptr<AfXdpPort> open_xdp(const std::string& interface, std::uint16_t link_mtu = kMtu) {
  auto port = AfXdpPort::open(interface, link_mtu);
  if (!port) throw std::runtime_error(port.error().message);
  return std::move(port.value());
}

std::string error_of(const std::string& interface, std::uint16_t link_mtu = kMtu) {
  const auto port = AfXdpPort::open(interface, link_mtu);
  return port ? "" : port.error().message;
}

bool has_program(const std::string& interface) {
  return std::system(fmt::format("ip link show {} | grep -q xdp", interface).c_str()) == 0;
}

class AfXdp : public ::testing::Test {
 protected:
  void SetUp() override {
    // A user namespace, as on_a_wire() makes one for others, is not enough.
    if (geteuid() != 0) GTEST_SKIP() << "only root may load XDP programs";
  }
};

void on_a_wire_in_one_process(int mtu, const std::function<std::string()>& body) {
  on_a_wire(mtu, [&] { return run(caught([&](const Process::Parent&) { return body(); })); });
}

TEST_F(AfXdp, CarriesFramesOfEveryLengthBothWaysAndPadsShortOnes) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    const auto far = open_xdp("far");
    for (std::size_t length = kMinFrame; length <= kLargestFrame; ++length) {
      auto frame = make_frame(length, static_cast<std::uint32_t>(length));
      send(*near, frame);
      if (frame.size() < 60) frame.resize(60);
      if (receive(*far, kPatience) != frame) return fmt::format("{} bytes there", length);
      send(*far, frame);
      if (receive(*near, kPatience) != frame) return fmt::format("{} bytes back", length);
    }
    return near->is_drained() && far->is_drained() ? "" : "not drained";
  });
}

TEST_F(AfXdp, CarriesMoreFramesThanItsRingsHoldInOrder) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    const auto far = open_xdp("far");
    std::array<nic::ReceivedFrame, 64> frames;
    std::uint32_t received = 0;
    for (std::uint32_t sent = 0; sent < 20'000; sent += 32) {
      for (std::uint32_t i = 0; i < 32; ++i) {
        const auto room = near->reserve();
        if (room.empty()) return "no room";
        const auto frame = make_frame(100 + (sent + i) % 1000, sent + i);
        std::copy(frame.begin(), frame.end(), room.begin());
        near->commit(frame.size());
      }
      near->flush();
      for (const auto end = std::chrono::steady_clock::now() + kPatience;
           received < sent + 32 && std::chrono::steady_clock::now() < end;) {
        const std::size_t count = far->receive(frames);
        for (std::size_t i = 0; i < count; ++i, ++received) {
          const auto expected = make_frame(100 + received % 1000, received);
          if (!std::equal(frames[i].begin(), frames[i].end(), expected.begin(), expected.end())) {
            return fmt::format("frame {} is another one", received);
          }
        }
      }
      if (received < sent + 32) return fmt::format("{} of {} frames", received, sent + 32);
    }
    const auto there = near->statistics();
    const auto here = far->statistics();
    if (there.sent_frames != here.received_frames || there.sent_bytes != here.received_bytes)
      return "miscounted";
    return there.dropped_frames == 0 ? "" : "dropped";
  });
}

TEST_F(AfXdp, TalksToAPortThroughAfPacket) {
  on_a_wire_in_one_process(1500, []() -> std::string {
    const auto near = open_xdp("near", 1500);
    const auto far = open(interface_port("far"), 1500);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const auto frame = make_frame(60 + 14 * i, i);
      send(*near, frame);
      if (receive(*far, kPatience) != frame) return "there";
      send(*far, frame);
      if (receive(*near, kPatience) != frame) return "back";
    }
    return "";
  });
}

TEST_F(AfXdp, WakesASleeperAndOnlyForFrames) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    const auto far = open_xdp("far");
    return complaint_about_waking(*near, *far);
  });
}

TEST_F(AfXdp, LeavesTheInterfaceAsItWasWhenItsProcessIsKilled) {
  on_a_wire(kMtu, []() -> std::string {
    if (has_program("near")) return "a program before";
    {
      Process owner(caught([](const Process::Parent& parent) -> std::string {
        const auto near = open_xdp("near");
        parent.tell("open");
        pause();
        return "";
      }));
      if (!owner.says("open")) return "does not open: " + owner.result(10ms);
      if (!has_program("near")) return "no program";
    }  // killed
    for (int i = 0; i < 100 && has_program("near"); ++i) usleep(10'000);
    return has_program("near") ? "the program stays" : "";
  });
}

TEST_F(AfXdp, RefusesAnInterfaceThatAnotherPortHas) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    const std::string error = error_of("near");
    return error.find("perhaps another NIC's") != std::string::npos ? "" : error;
  });
}

TEST_F(AfXdp, RefusesInterfacesThatItCannotUseAndSaysWhatToDo) {
  on_a_wire_in_one_process(1500, []() -> std::string {
    const auto expect = [](const std::string& error, const std::string& words) {
      return error.find(words) != std::string::npos ? "" : error + " (expected: " + words + ") ";
    };
    std::string wrong = expect(error_of("near"), "near: its MTU is 1500, less than the NIC's 3442");
    wrong += expect(error_of("nothing", 1500), "nothing: No such device");
    if (std::system("ip link set near mtu 3443") != 0) return "ip";
    wrong += expect(error_of("near", 1500), "ip link set near mtu 3442");
    if (std::system("ip link set near down") != 0) return "ip";
    wrong += expect(error_of("near", 1500), "is down");
    // Two receive queues of one side need two transmit queues of the other.
    if (std::system("ip link add wide numrxqueues 2 numtxqueues 2 type veth peer name side numrxqueues 2 "
                    "numtxqueues 2 && ip link set wide up") != 0) {
      return "ip";
    }
    wrong += expect(error_of("wide", 1500), "ethtool -L wide combined 1");
    return wrong;
  });
}

TEST_F(AfXdp, NamesTheCapabilitiesThatItNeeds) {
  on_a_wire_in_one_process(1500, []() -> std::string {
    // Keep CAP_NET_RAW alone.
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    data[0].effective = data[0].permitted = 1u << CAP_NET_RAW;
    if (syscall(SYS_capset, &header, data.data()) != 0) return "capset";
    const std::string error = error_of("near", 1500);
    if (error.find("CAP_NET_ADMIN, CAP_BPF and CAP_NET_RAW") == std::string::npos) return error;
    const auto checked = check_af_xdp("near", 1500);
    return checked || checked.error().message != error ? "the check says something else" : "";
  });
}

TEST_F(AfXdp, DropsWhatIsLongerThanTheNicTakes) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near", 1500);
    const auto far = open_xdp("far");
    send(*far, make_frame(kLargestFrame, 1));
    send(*far, make_frame(1515, 1));
    const auto frame = make_frame(1514, 2);
    send(*far, frame);
    if (receive(*near, kPatience) != frame) return "a long frame shows up, or none";
    return near->statistics().dropped_frames == 2 ? "" : "miscounted";
  });
}

TEST_F(AfXdp, DropsFramesAndNeverBlocksWhenTheInterfaceGoesDownAndGoesOnWhenItIsBack) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    const auto far = open_xdp("far");
    if (std::system("ip link set near down") != 0) return "ip";
    for (std::uint32_t i = 0; i < 2000; ++i) send(*near, make_frame(1000, i));
    if (near->statistics().dropped_frames < 1900) return "few dropped";
    if (std::system("ip link set near up") != 0) return "ip";
    const auto frame = make_frame(200, 77);
    for (int i = 0; i < 100; ++i) {
      send(*near, frame);
      if (receive(*far, 20ms) == frame) return "";
    }
    return "nothing arrives";
  });
}

TEST_F(AfXdp, DropsFramesAndNeverBlocksWhenTheInterfaceGoesAway) {
  on_a_wire_in_one_process(kMtu, []() -> std::string {
    const auto near = open_xdp("near");
    if (std::system("ip link del near") != 0) return "ip";
    for (std::uint32_t i = 0; i < 2000; ++i) send(*near, make_frame(1000, i));
    if (near->statistics().dropped_frames < 1900) return "few dropped";
    while (near->arm()) receive(*near, 0ms);
    pollfd wake{.fd = near->wake_fd(), .events = POLLIN, .revents = 0};
    return poll(&wake, 1, 200) == 0 ? "" : "awake without end";
  });
}

}  // namespace
}  // namespace urnic::drivers
