// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ports on real interfaces: a veth pair in a network namespace of the test's own.
#include "drivers/dpdk/af_packet.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "nic/host/interface_mtu.h"
#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"
#include "tests/unit/drivers/dpdk/wire_namespace.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;

std::string error_on(const std::string& interface) {
  return run(caught([&](const Process::Parent&) { return error_of_opening(interface_port(interface)); }));
}

TEST(AfPacket, CarriesFramesOfEveryLengthBothWaysAndPadsShortOnes) {
  on_a_wire(kLinkMtu, []() -> std::string {
    Process far(echo(interface_port("far")));
    if (!far.says("open")) return "far: " + far.result(10ms);
    return run(caught([](const Process::Parent&) {
      const auto port = open(interface_port("near"));
      return exchange_all_lengths(*port, kMinFrame, 60);
    }));
  });
}

TEST(InterfaceMtu, IsThatOfAnInterface) {
  on_a_wire(3000, []() -> std::string {
    const auto mtu = nic::interface_mtu("near");
    if (!mtu || mtu.value() != 3000) return "wrong";
    return nic::interface_mtu("nothing") ? "an MTU of nothing" : "";
  });
}

TEST(AfPacket, RefusesAnInterfaceWhoseMtuIsTooSmall) {
  on_a_wire(1500, []() -> std::string {
    const std::string error = error_on("near");
    return error == "network interface near: its MTU is 1500, less than the NIC's 4200" ? "" : error;
  });
}

TEST(AfPacket, RefusesAnInterfaceThatIsDown) {
  on_a_wire(kLinkMtu, []() -> std::string {
    if (std::system("ip link set near down") != 0) return "ip";
    const std::string error = error_on("near");
    return error == "network interface near: is down" ? "" : error;
  });
}

TEST(AfPacket, WakesASleeperAndOnlyForFrames) {
  on_a_wire(kLinkMtu, []() -> std::string {
    return run(caught([](const Process::Parent&) -> std::string {
      const auto near = open(interface_port("near"));
      const auto far = open(interface_port("far"));
      return complaint_about_waking(*near, *far);
    }));
  });
}

TEST(AfPacket, HearsFramesForOtherMacsWithoutChangingTheInterfacesFlags) {
  on_a_wire(kLinkMtu, []() -> std::string {
    return run(caught([](const Process::Parent&) -> std::string {
      const auto flags = [] {
        std::ifstream file("/sys/class/net/near/flags");
        std::string text;
        file >> text;
        return text;
      };
      const auto before = flags();
      {
        const auto near = open(interface_port("near"));
        const auto far = open(interface_port("far"));
        auto frame = make_frame(100, 1);
        frame[0] = std::byte{0x02};  // a unicast MAC that no host has
        send(*far, frame);
        if (receive(*near, kPatience) != frame) return "deaf";
      }
      return flags() == before ? "" : "flags";
    }));
  });
}

TEST(AfPacket, GivesEveryPortOnAnInterfaceEveryFrame) {
  on_a_wire(kLinkMtu, []() -> std::string {
    return run(caught([](const Process::Parent&) -> std::string {
      const auto near = open(interface_port("near"));
      const auto near_too = open(interface_port("near"));
      const auto far = open(interface_port("far"));
      for (std::uint32_t i = 0; i < 20; ++i) {
        const auto frame = make_frame(100, i);
        send(*far, frame);
        if (receive(*near, kPatience) != frame) return "the first misses a frame";
        if (receive(*near_too, kPatience) != frame) return "the second misses a frame";
      }
      return "";
    }));
  });
}

TEST(AfPacket, OpensInterfacesWhoseIndicesDifferInHighBitsOnly) {
  on_a_wire(kLinkMtu, []() -> std::string {
    if (std::system("ip link add high index 66000 type veth peer name low index 464 && "
                    "ip link set high mtu 4200 up && ip link set low mtu 4200 up") != 0) {
      return "ip";
    }
    return run(caught([](const Process::Parent&) -> std::string {
      const auto high = open(interface_port("high"));
      const auto low = open(interface_port("low"));
      const auto frame = make_frame(100, 1);
      send(*high, frame);
      return receive(*low, kPatience) == frame ? "" : "deaf";
    }));
  });
}

TEST(AfPacket, DropsWhatIsLongerThanTheNicTakes) {
  on_a_wire(9000, []() -> std::string {
    return run(caught([](const Process::Parent&) -> std::string {
      const auto near = open(interface_port("near"));
      const auto far = open(interface_port("far"), 9000);
      send(*far, make_frame(9014, 1));
      send(*far, make_frame(kMaxFrame + 1, 1));
      const auto frame = make_frame(kMaxFrame, 2);
      send(*far, frame);
      if (receive(*near, kPatience) != frame) return "a long frame shows up, or none";
      return near->statistics().dropped_frames == 2 ? "" : "miscounted";
    }));
  });
}

TEST(AfPacket, CountsFramesAsDroppedAndNeverBlocksWhenTheInterfaceGoesAway) {
  on_a_wire(kLinkMtu, []() -> std::string {
    return run(caught([](const Process::Parent&) -> std::string {
      const auto near = open(interface_port("near"));
      if (std::system("ip link del near") != 0) return "ip";
      for (int i = 0; i < 2000; ++i) send(*near, make_frame(1000, 0));
      const auto statistics = near->statistics();
      if (statistics.sent_frames != 0) return fmt::format("{} sent", statistics.sent_frames);
      return statistics.dropped_frames > 0 ? "" : "none dropped";
    }));
  });
}

}  // namespace
}  // namespace urnic::drivers
