// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the tests of the network stand on: small topologies, RoCEv2-like frames, and sinks that keep or
// refill.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/network/network.h"
#include "drivers/network/topology_file.h"
#include "tests/support/value_of.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"

namespace urnic::network::test {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
namespace wire = transport::wire;

inline constexpr std::uint64_t kGigabit = 1'000'000'000;
inline constexpr unsigned kLosslessPriority = 3;  // what DSCP 26 is by default

inline HostId host(std::size_t index) {
  return static_cast<HostId>(index);
}
inline LinkId link(std::size_t index) {
  return static_cast<LinkId>(index);
}
inline wire::Mac mac_of_host(std::size_t index) {
  return {{0x02, 0, 0, 0, static_cast<std::uint8_t>(index >> 8), static_cast<std::uint8_t>(index)}};
}
inline Time at(Duration duration) {
  return Time(duration);
}

/// A frame of `size` bytes without FCS: Ethernet, IP, UDP to port 4791, anything.
struct FrameSpec {
  std::size_t from = 0;
  std::size_t to = 1;
  std::size_t size = 1024;
  std::uint8_t dscp = 0;
  Ecn ecn = Ecn::kEct0;
  std::uint16_t source_port = 49152;
  bool is_ipv6 = false;
};

inline Bytes make_frame(const FrameSpec& spec) {
  Bytes bytes(spec.size, std::byte{0x5a});
  const std::span<std::byte> all(bytes);
  const auto tos = static_cast<std::uint8_t>(spec.dscp << 2 | static_cast<unsigned>(spec.ecn));
  std::size_t filled =
      emit(wire::Ethernet{.destination = mac_of_host(spec.to),
                          .source = mac_of_host(spec.from),
                          .ether_type = spec.is_ipv6 ? wire::EtherType::kIpv6 : wire::EtherType::kIpv4},
           all);
  const auto low = [](std::size_t index) { return static_cast<std::uint8_t>(index + 1); };
  if (spec.is_ipv6) {
    wire::Ipv6 ip{.traffic_class = tos,
                  .flow_label = 0xabcde,
                  .payload_length = static_cast<std::uint16_t>(spec.size - filled - 40)};
    ip.source.octets[15] = low(spec.from);
    ip.destination.octets[15] = low(spec.to);
    filled += emit(ip, all.subspan(filled));
  } else {
    filled += emit(wire::Ipv4{.tos = tos,
                              .total_length = static_cast<std::uint16_t>(spec.size - filled),
                              .identification = 0x1234,
                              .source = {{10, 0, 0, low(spec.from)}},
                              .destination = {{10, 0, 0, low(spec.to)}}},
                   all.subspan(filled));
  }
  wire::store_u16(all, filled, spec.source_port);
  wire::store_u16(all, filled + 2, 4791);
  return bytes;
}

/// `hosts` around one switch; link N is host N's, with the host at end 0.
inline Topology star(std::size_t hosts, const Profile& profile, std::uint64_t rate_bps = 100 * kGigabit,
                     Duration delay = 1us) {
  Topology topology;
  topology.profiles.push_back(profile);
  topology.profiles.back().name = "profile";
  topology.switches.push_back({.name = "switch"});
  for (std::size_t i = 0; i < hosts; ++i) {
    topology.hosts.push_back({.name = "host" + std::to_string(i)});
    topology.links.push_back({.ends = {Node{Node::Kind::kHost, i}, Node{Node::Kind::kSwitch, 0}},
                              .rate_bps = rate_bps,
                              .delay = delay});
  }
  return topology;
}

/// The port of the switch of a star() towards a host.
inline PortId switch_port(std::size_t to_host) {
  return port_id(link(to_host), 1);
}

/// One that is shipped.
inline Topology shipped_topology(const std::string& name) {
  std::ifstream file(std::string(URNIC_TOPOLOGIES) + "/" + name + ".json");
  auto topology = parse_topology(std::string(std::istreambuf_iterator<char>(file), {}));
  return urnic::test::value_of(std::move(topology));
}

inline void attach_all(Network& network) {
  for (std::size_t i = 0; i < network.topology().hosts.size(); ++i) network.attach(host(i), mac_of_host(i));
}

struct Delivery {
  HostId host;
  Time time;
  Bytes bytes;
};

/// Keeps what is delivered.
class Recorder : public Sink {
 public:
  void deliver(HostId to, std::span<const std::byte> frame, Time time) override {
    deliveries.push_back({to, time, Bytes(frame.begin(), frame.end())});
  }
  std::size_t count(std::size_t to) const {
    std::size_t sum = 0;
    for (const Delivery& each : deliveries) sum += each.host == host(to) ? 1 : 0;
    return sum;
  }

  std::vector<Delivery> deliveries;
};

/// Senders that always have a frame for their link, and receivers that count.
class Flows : public Sink {
 public:
  explicit Flows(Network& network)
      : network_(network),
        received_bytes(network.topology().hosts.size()),
        received_frames(network.topology().hosts.size()) {}

  /// From `begin` on, `count` frames.
  void add(const FrameSpec& spec, std::uint64_t count = ~std::uint64_t{0}) {
    flows_.push_back({spec, make_frame(spec), count});
  }
  void run(Time until) {
    for (Flow& flow : flows_) refill(flow, last_);
    network_.run_until(until, *this);
    last_ = until;
  }
  void deliver(HostId to, std::span<const std::byte> frame, [[maybe_unused]] Time time) override {
    received_bytes[static_cast<std::size_t>(to)] += frame.size();
    ++received_frames[static_cast<std::size_t>(to)];
  }
  void on_room(HostId at, unsigned priority, Time time) override {
    for (Flow& flow : flows_) {
      if (host(flow.spec.from) == at && network_.priority_of(at, flow.bytes) == priority) refill(flow, time);
    }
  }

 private:
  struct Flow {
    FrameSpec spec;
    Bytes bytes;
    std::uint64_t left;
  };

  void refill(Flow& flow, Time now) {
    const HostId from = host(flow.spec.from);
    const unsigned priority = network_.priority_of(from, flow.bytes);
    while (flow.left > 0 && network_.room(from, priority) >= flow.bytes.size()) {
      --flow.left;
      ASSERT_EQ(network_.send(from, flow.bytes, now), Network::SendResult::kQueued);
    }
  }

  Network& network_;
  std::vector<Flow> flows_;
  Time last_{};

 public:
  std::vector<std::uint64_t> received_bytes;   // by host
  std::vector<std::uint64_t> received_frames;  // by host
};

}  // namespace urnic::network::test
