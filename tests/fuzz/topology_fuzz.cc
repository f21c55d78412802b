// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: topology files.
//
// The input is the text of one. Nothing may crash; a refusal says why in one line; of what is taken a network
// is made, in which each host sends a few frames: none may be left inside when all is done, and all are
// delivered or counted as lost.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/network/network.h"
#include "drivers/network/topology_file.h"

namespace urnic::network {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

class Count final : public Sink {
 public:
  void deliver([[maybe_unused]] HostId host, [[maybe_unused]] std::span<const std::byte> frame,
               [[maybe_unused]] Time time) override {
    ++frames;
  }
  std::uint64_t frames = 0;
};

transport::wire::Mac mac_of_number(std::size_t number) {
  return {{0x02, 0, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}};
}

void run_network(const Topology& topology) {
  constexpr std::size_t kFewNodes = 64;  // larger ones are built, which takes long enough
  Network network(topology, 1);
  const std::size_t hosts = topology.hosts.size();
  if (hosts + topology.switches.size() > kFewNodes) return;
  for (std::size_t i = 0; i < hosts; ++i) network.attach(static_cast<HostId>(i), mac_of_number(i));

  std::uint64_t sent = 0;
  std::vector<std::byte> frame(1000, std::byte{0x45});
  for (std::size_t i = 0; i < 4 * hosts; ++i) {
    const auto to = mac_of_number((i * 7 + 1) % hosts);
    for (std::size_t octet = 0; octet < to.octets.size(); ++octet) frame[octet] = std::byte{to.octets[octet]};
    frame[12] = std::byte{0x08};
    frame[13] = std::byte{0};
    frame[15] = static_cast<std::byte>((i % 2 == 0 ? 26u : 0u) << 2 | 2u);
    const auto from = static_cast<HostId>(i % hosts);
    if (network.send(from, frame, Time{}) == Network::SendResult::kQueued) ++sent;
  }
  Count sink;
  std::uint64_t lost_before = 0;
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    lost_before += network.total(priority).all_dropped();
  }
  // Refreshed pauses could go on without end; 1000 s are enough for every frame at 1 Mb/s.
  for (int i = 0; i < 200'000 && network.frames_inside() > 0; ++i) {
    network.run_until(network.next_event(), sink);
  }
  std::uint64_t lost = 0;
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    lost += network.total(priority).all_dropped();
  }
  if (network.frames_inside() > 0) return;
  require(sink.frames + lost - lost_before == sent, "every frame is delivered or counted as lost");
}

void try_input(std::string_view text) {
  const auto topology = parse_topology(text);
  if (!topology) {
    require(!topology.error().message.empty(), "a refusal says why");
    require(topology.error().message.find('\n') == std::string::npos, "a refusal is one line");
    return;
  }
  require(check(topology.value()).has_value(), "what is read is as it must be");
  run_network(topology.value());
}

}  // namespace
}  // namespace urnic::network

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::network::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
