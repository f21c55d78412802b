// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the specification that `urnic run --fault` takes, and the frames that exact faults then look
// at and change.
//
// The input is a line of text, the specification, and then frames: two bytes with direction, link and length,
// then the frame. Nothing may crash or read out of bounds. A specification that is understood is written as
// one that means the same. A changed frame keeps its length, and its ICRC is right or wrong as the fault
// says. The frames also pass a link of a network that has these faults, also those by chance; the link does
// not change their Ethernet header.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/fault/exact_faults.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/fault/frame_repair.h"
#include "drivers/fault/network_faults.h"

namespace urnic::drivers {
namespace {

constexpr std::size_t kHead = 2;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// Two hosts and a link with these faults.
network::Topology pair_with(const std::string& faults) {
  network::Topology topology;
  topology.hosts = {{.name = "a"}, {.name = "b"}};
  topology.links = {{.ends = {network::Node{network::Node::Kind::kHost, 0}, {network::Node::Kind::kHost, 1}},
                     .rate_bps = 1'000'000'000,
                     .faults = faults}};
  return topology;
}

struct Faults {
  Faults(const FaultSpec& spec, const std::string& text)
      : on_ethernet(spec.exact, spec.seed, nic::Medium::kEthernet),
        on_ip(spec.exact, spec.seed, nic::Medium::kIp),
        on_link(std::move(NetworkFaults::create(pair_with(text)).value())) {
    for (const ExactFault& fault : spec.exact)
      keeps_icrc_right &= fault.is_icrc_right || !changes_packet(fault);
  }
  static bool changes_packet(const ExactFault& fault) {
    return fault.action == ExactFault::Action::kCorrupt || fault.action == ExactFault::Action::kSet;
  }
  ExactFaults on_ethernet;
  ExactFaults on_ip;
  std::unique_ptr<NetworkFaults> on_link;
  bool keeps_icrc_right = true;  // all of them
};

void try_frame(Faults& faults, Way way, nic::Medium medium, std::span<const std::byte> frame) {
  ExactFaults& exact = medium == nic::Medium::kEthernet ? faults.on_ethernet : faults.on_ip;
  const ExactFaults::Fate fate = exact.judge(way, frame);
  require(!fate.is_lost || (!fate.is_duplicated && fate.behind == 0 && fate.changes == 0),
          "nothing else happens to what is lost");
  require(fate.behind <= ExactFault::kMaxBehind, "what is held back fits the stash");
  if (fate.changes == 0) return;
  const auto before = read_frame(medium, frame);
  require(before.has_value(), "only packets are changed");
  std::vector<std::byte> changed(frame.begin(), frame.end());
  exact.change(fate, changed);
  const auto after = read_frame(medium, changed);
  require(after.has_value(), "a changed packet has right checksums");
  require(!faults.keeps_icrc_right || after->icrc_ok() == before->icrc_ok(),
          "the ICRC is as right as it was");
}

void try_link(NetworkFaults& faults, Way way, std::span<const std::byte> frame) {
  const network::LinkFate fate = faults.judge(network::LinkId{0}, way == Way::kSent ? 0 : 1, frame);
  require(fate.delay <= ExactFault::kMaxDelay, "a delay is as long as it may be written");
  if (fate.is_lost || !fate.is_changed) return;
  std::vector<std::byte> changed(frame.begin(), frame.end());
  const std::size_t left = faults.change(network::LinkId{0}, changed);
  require(left <= frame.size(), "a frame gets no longer");
  const std::size_t header = std::min<std::size_t>(left, 14);
  require(std::equal(changed.begin(), changed.begin() + static_cast<std::ptrdiff_t>(header), frame.begin()),
          "the Ethernet header stays");
}

void try_input(std::span<const std::byte> data) {
  const auto end = std::find(data.begin(), data.end(), std::byte{'\n'});
  std::string text;
  std::transform(data.begin(), end, std::back_inserter(text),
                 [](std::byte letter) { return static_cast<char>(letter); });
  const auto spec = FaultSpec::parse(text);
  if (!spec) {
    require(!spec.error().message.empty(), "a refusal says why");
    return;
  }
  const auto again = FaultSpec::parse(spec.value().to_string());
  require(again && again.value().to_string() == spec.value().to_string(), "what is written means the same");

  Faults faults(spec.value(), text);
  data = data.subspan(std::min(data.size(), static_cast<std::size_t>(end - data.begin()) + 1));
  while (data.size() >= kHead) {
    const auto head = std::to_integer<unsigned>(data[0]) << 8 | std::to_integer<unsigned>(data[1]);
    const std::size_t length = std::min<std::size_t>(head & 0x3fff, data.size() - kHead);
    const Way way = (head & 0x8000) != 0 ? Way::kReceived : Way::kSent;
    const auto medium = (head & 0x4000) != 0 ? nic::Medium::kIp : nic::Medium::kEthernet;
    const std::span<const std::byte> frame = data.subspan(kHead, length);
    try_frame(faults, way, medium, frame);
    if (medium == nic::Medium::kEthernet) try_link(*faults.on_link, way, frame);
    data = data.subspan(kHead + length);
  }
  for (const ExactFaults* const each : {&faults.on_ethernet, &faults.on_ip}) {
    for (const std::string& line : each->report()) require(!line.empty(), "every fault is reported");
  }
}

}  // namespace
}  // namespace urnic::drivers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::drivers::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
