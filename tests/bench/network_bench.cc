// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a packet-hop costs in the model of links and switches: one frame through one port.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drivers/network/network.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/ipv4.h"

namespace urnic::network {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHostsPerLeaf = 8;
constexpr std::uint64_t kRate = 100'000'000'000;

transport::wire::Mac bench_mac(std::size_t host) {
  return {{0x02, 0, 0, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)}};
}

/// Leaves of eight hosts, and four spines when there is more than one leaf; priority 3 is lossless and marks.
Topology make_leaf_spine(std::size_t hosts) {
  Topology topology;
  Profile& profile = topology.profiles.emplace_back();
  profile.name = "lossless";
  PriorityProfile& lossless = profile.priorities[3];
  lossless.marking = Marking{.kmin_bytes = 100'000, .kmax_bytes = 400'000, .pmax = 0.2};
  lossless.lossless = Lossless{.headroom_bytes = 49'152};
  profile.buffer_bytes = 2 << 20;  // is full soon, so that the pools are warm
  const std::size_t leaves = hosts / kHostsPerLeaf;
  const std::size_t spines = leaves > 1 ? 4 : 0;
  for (std::size_t i = 0; i < leaves + spines; ++i) {
    topology.switches.push_back({.name = "switch" + std::to_string(i)});
  }
  const auto add = [&](Node one, Node other) {
    topology.links.push_back({.ends = {one, other}, .rate_bps = kRate, .delay = 1us});
  };
  for (std::size_t i = 0; i < hosts; ++i) {
    topology.hosts.push_back({.name = "host" + std::to_string(i)});
    add({Node::Kind::kHost, i}, {Node::Kind::kSwitch, i / kHostsPerLeaf});
  }
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::size_t spine = 0; spine < spines; ++spine) {
      add({Node::Kind::kSwitch, leaf}, {Node::Kind::kSwitch, leaves + spine});
    }
  }
  return topology;
}

/// Each host sends to the one half the network away, as fast as its link takes it.
class Senders final : public Sink {
 public:
  explicit Senders(Network& network, std::size_t size) : network_(network) {
    const std::size_t hosts = network.topology().hosts.size();
    for (std::size_t i = 0; i < hosts; ++i) {
      network.attach(static_cast<HostId>(i), bench_mac(i));
      frames_.push_back(make(i, (i + hosts / 2) % hosts, size));
    }
  }
  void start() {
    for (std::size_t i = 0; i < frames_.size(); ++i) refill(static_cast<HostId>(i), Time{});
  }
  void deliver([[maybe_unused]] HostId host, [[maybe_unused]] std::span<const std::byte> frame,
               [[maybe_unused]] Time time) override {}
  void on_room(HostId host, [[maybe_unused]] unsigned priority, Time time) override { refill(host, time); }

 private:
  static std::vector<std::byte> make(std::size_t from, std::size_t to, std::size_t size) {
    namespace wire = transport::wire;
    std::vector<std::byte> frame(size);
    const std::span<std::byte> all(frame);
    const std::size_t ip = emit(
        wire::Ethernet{
            .destination = bench_mac(to), .source = bench_mac(from), .ether_type = wire::EtherType::kIpv4},
        all);
    const auto octet = [](std::size_t host, unsigned shift) {
      return static_cast<std::uint8_t>(host >> shift);
    };
    const std::size_t udp = ip + emit(wire::Ipv4{.tos = 26 << 2 | 2,
                                                 .total_length = static_cast<std::uint16_t>(size - ip),
                                                 .source = {{10, 0, octet(from, 8), octet(from, 0)}},
                                                 .destination = {{10, 0, octet(to, 8), octet(to, 0)}}},
                                      all.subspan(ip));
    wire::store_u16(all, udp, static_cast<std::uint16_t>(49152 + from));
    wire::store_u16(all, udp + 2, 4791);
    return frame;
  }
  void refill(HostId host, Time now) {
    const auto& frame = frames_[static_cast<std::size_t>(host)];
    while (network_.room(host, 3) >= 60'000) network_.send(host, frame, now);
  }

  Network& network_;
  std::vector<std::vector<std::byte>> frames_;
};

void packet_hops(benchmark::State& state) {
  const auto hosts = static_cast<std::size_t>(state.range(0));
  Network network(make_leaf_spine(hosts), 1);
  Senders senders(network, static_cast<std::size_t>(state.range(1)));
  senders.start();
  Time now{};
  network.run_until(now += 300us, senders);  // the buffers are as full as they get
  const std::uint64_t before = network.total(3).sent_frames;
  for ([[maybe_unused]] auto _ : state) network.run_until(now += 1us, senders);
  const std::uint64_t hops = network.total(3).sent_frames - before;
  state.SetItemsProcessed(static_cast<std::int64_t>(hops));
  state.counters["marked"] = static_cast<double>(network.total(3).marked_frames);
  state.counters["dropped"] = static_cast<double>(network.total(3).all_dropped());
}

BENCHMARK(packet_hops)
    ->ArgNames({"hosts", "bytes"})
    ->ArgsProduct({{8, 16, 64, 256}, {1082}})
    ->Args({64, 78})
    ->Args({64, 4170});

}  // namespace
}  // namespace urnic::network

BENCHMARK_MAIN();
