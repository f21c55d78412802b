// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/random_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

namespace urnic::sim {
namespace {

using network::Topology;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kMegabit = 1'000'000;
constexpr std::array<std::uint8_t, 4> kUsedDscps = {0, 10, 26, 48};
constexpr std::size_t kMostSwitches = 6;
/// Nine copies of the longest frame that looks for a neighbor, with what a link adds to each.
constexpr std::uint64_t kBroadcastBytes = 1'000;
/// An XOFF is repeated at half its time. A pause frame takes 1.3 quanta of the link's time itself, and goes
/// before data: with shorter XOFFs a port would send hardly anything else.
constexpr double kLeastQuanta = 16;

/// Draws one topology. The links come first: what a headroom has to hold depends on them.
class TopologyDrawer {
 public:
  TopologyDrawer(std::size_t hosts, Random& random) : hosts_(hosts), random_(random) {}

  Topology draw() {
    draw_nodes();
    draw_links();
    if (random_.chance(0.4)) draw_outages();
    // Most networks are of one kind of switch.
    const std::size_t kinds = random_.chance(0.7) ? 1 : topology_.switches.size();
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      if (i < kinds) topology_.profiles.push_back(draw_profile(i));
      topology_.switches[i].profile = std::min(i, kinds - 1);
    }
    return topology_;
  }

 private:
  void draw_nodes();
  void draw_links();
  network::Link draw_link(network::Node one, network::Node other);
  void draw_outages();
  network::Profile draw_profile(std::size_t number);
  network::Marking draw_marking(bool is_lossless);
  network::Lossless draw_lossless();
  std::uint64_t headroom_needed() const;

  std::size_t hosts_;
  Random& random_;
  Topology topology_;
  std::uint64_t usual_rate_ = 0;
};

network::Node switch_at(std::size_t index) {
  return {.kind = network::Node::Kind::kSwitch, .index = index};
}

void TopologyDrawer::draw_nodes() {
  const std::size_t switches = random_.between(1, kMostSwitches);
  for (std::size_t i = 0; i < switches; ++i) topology_.switches.push_back({.name = fmt::format("s{}", i)});
  const std::uint64_t queue = random_.pick(std::array{16u, 64u, 256u}) * std::uint64_t{1024};
  for (std::size_t host = 0; host < hosts_; ++host) {
    topology_.hosts.push_back({.name = std::string(1, name(host_id(host))), .queue_bytes = queue});
  }
}

void TopologyDrawer::draw_links() {
  usual_rate_ = random_.pick(std::array{100u, 1'000u, 10'000u, 25'000u, 100'000u}) * kMegabit;
  const std::size_t switches = topology_.switches.size();
  const auto add = [this](network::Node one, network::Node other) {
    topology_.links.push_back(draw_link(one, other));
  };
  for (std::size_t i = 1; i < switches; ++i) add(switch_at(i), switch_at(random_.below(i)));
  const std::size_t more = switches == 1 ? 0 : random_.below(switches + 2);
  for (std::size_t i = 0; i < more; ++i) {
    const std::size_t one = random_.below(switches);
    add(switch_at(one), switch_at((one + random_.between(1, switches - 1)) % switches));
  }
  for (std::size_t host = 0; host < hosts_; ++host) {
    add({.kind = network::Node::Kind::kHost, .index = host}, switch_at(random_.below(switches)));
  }
}

network::Link TopologyDrawer::draw_link(network::Node one, network::Node other) {
  network::Link link{.ends = {one, other}, .rate_bps = usual_rate_};
  if (random_.chance(0.25)) link.rate_bps = std::max(usual_rate_ / 10, 10 * kMegabit);
  link.delay = random_.between(nanoseconds(50), microseconds(random_.chance(0.1) ? 500 : 10));
  return link;
}

void TopologyDrawer::draw_outages() {
  for (std::uint64_t count = random_.between(1, 3); count > 0; --count) {
    network::Link& link = topology_.links[random_.below(topology_.links.size())];
    const Duration after = link.outages.empty() ? Duration(0) : *link.outages.back().up;
    const Duration down = after + random_.between(microseconds(10), milliseconds(10));
    link.outages.push_back(
        {.down = down,
         .up = down + random_.between(microseconds(20), milliseconds(random_.chance(0.3) ? 50 : 3))});
  }
}

/// TOPOLOGY.md: two delays, a longest frame of each side, the pause frame.
std::uint64_t TopologyDrawer::headroom_needed() const {
  std::uint64_t most = 0;
  for (const network::Link& link : topology_.links) {
    const auto bits = static_cast<double>(link.rate_bps) * 2 * static_cast<double>(link.delay.count()) / 1e9;
    most = std::max(most, static_cast<std::uint64_t>(bits / 8));
  }
  constexpr std::uint64_t kLongestFrame = 4300;
  return most + 2 * kLongestFrame + 84;
}

network::Profile TopologyDrawer::draw_profile(std::size_t number) {
  network::Profile profile{.name = fmt::format("p{}", number)};
  if (random_.chance(0.6)) {
    for (const std::uint8_t dscp : kUsedDscps) {
      profile.dscp_to_priority[dscp] = static_cast<std::uint8_t>(random_.below(network::kPriorities));
    }
  }
  // An XOFF of 100 us or more: shorter ones would be repeated all the time.
  const auto fastest = std::ranges::max(topology_.links, {}, &network::Link::rate_bps).rate_bps;
  const double quanta =
      std::ceil(static_cast<double>(fastest) * random_.pick(std::array{1e-4, 1e-3, 1e-2}) / 512);
  profile.pause_quanta = static_cast<std::uint16_t>(std::clamp(quanta, kLeastQuanta, 65535.0));

  const std::uint64_t limit = random_.pick(std::array{10'000u, 20'000u, 40'000u, 150'000u});
  const double lossless = random_.pick(std::array{0.0, 0.3, 1.0});
  const double marking = random_.pick(std::array{0.0, 0.5, 1.0});
  const bool shares = random_.chance(0.3);
  std::uint64_t headrooms = 0;
  for (network::PriorityProfile& priority : profile.priorities) {
    priority.limit_bytes = limit;
    if (random_.chance(lossless)) priority.lossless = draw_lossless();
    if (random_.chance(marking)) priority.marking = draw_marking(priority.lossless.has_value());
    if (shares) priority.weight = static_cast<unsigned>(random_.between(0, 10));
    if (priority.lossless) headrooms += priority.lossless->headroom_bytes;
  }
  const std::uint64_t pool = random_.pick(std::array{15'000u, 60'000u, 1'000'000u});
  profile.buffer_bytes = headrooms * 2 * topology_.links.size() + pool;
  for (network::PriorityProfile& priority : profile.priorities) {
    if (!priority.lossless || !priority.lossless->xoff_bytes) continue;
    priority.lossless->xoff_bytes = std::min(*priority.lossless->xoff_bytes, pool);
  }
  return profile;
}

network::Marking TopologyDrawer::draw_marking(bool is_lossless) {
  network::Marking marking;
  marking.kmin_bytes = random_.pick(std::array{0u, 2'000u, 8'000u});
  marking.kmax_bytes = marking.kmin_bytes + random_.pick(std::array{0u, 5'000u, 30'000u});
  marking.pmax = random_.pick(std::array{0.05, 0.3, 1.0});
  if (!is_lossless && random_.chance(0.2)) {
    marking.not_ect = network::Marking::NotEct::kDrop;
    // A host's broadcast is a copy for each other one here, all at once: each finds those before it in the
    // queue.
    marking.kmin_bytes = std::max(marking.kmin_bytes, kBroadcastBytes);
    marking.kmax_bytes = std::max(marking.kmax_bytes, kBroadcastBytes);
  }
  return marking;
}

network::Lossless TopologyDrawer::draw_lossless() {
  network::Lossless lossless;
  if (random_.chance(0.7)) lossless.xoff_bytes = random_.pick(std::array{6'000u, 12'000u, 50'000u});
  lossless.xoff_alpha = random_.pick(std::array{0.03, 0.125, 1.0});
  lossless.headroom_bytes = random_.chance(0.6) ? headroom_needed() : random_.pick(std::array{0u, 3'000u});
  lossless.watchdog =
      random_.pick(std::array{Duration(0), Duration(microseconds(100)), Duration(microseconds(1000))});
  lossless.watchdog_restore = random_.pick(std::array{Duration(0), Duration(microseconds(500))});
  return lossless;
}

std::string describe(const network::Profile& profile) {
  std::string text =
      fmt::format("{}[buffer={} quanta={} dscp=", profile.name, profile.buffer_bytes, profile.pause_quanta);
  for (const std::uint8_t dscp : kUsedDscps) {
    text += fmt::format("{}{}>{}", dscp == 0 ? "" : ",", dscp, profile.dscp_to_priority[dscp]);
  }
  for (std::size_t i = 0; i < network::kPriorities; ++i) {
    const network::PriorityProfile& priority = profile.priorities[i];
    text += fmt::format(" {}:", i);
    text += priority.weight == 0 ? "strict" : fmt::format("w{}", priority.weight);
    if (const auto& lossless = priority.lossless) {
      text += fmt::format(",lossless(xoff={} headroom={} watchdog={}us)",
                          lossless->xoff_bytes ? fmt::format("{}", *lossless->xoff_bytes)
                                               : fmt::format("{}x", lossless->xoff_alpha),
                          lossless->headroom_bytes, lossless->watchdog.count() / 1000);
    } else {
      text += fmt::format(",limit={}", priority.limit_bytes);
    }
    if (const auto& marking = priority.marking) {
      text += fmt::format(",ecn({}..{}x{}{})", marking->kmin_bytes, marking->kmax_bytes, marking->pmax,
                          marking->not_ect == network::Marking::NotEct::kDrop ? " drop" : "");
    }
  }
  return text + "]";
}

}  // namespace

network::Topology draw_random_topology(std::size_t hosts, Random& random) {
  return TopologyDrawer(hosts, random).draw();
}

std::uint8_t draw_traffic_class(Random& random) {
  return static_cast<std::uint8_t>(random.pick(kUsedDscps) << 2);
}

std::string describe(const network::Topology& topology) {
  std::string text = fmt::format("queue={}", topology.hosts.front().queue_bytes);
  for (const network::Link& link : topology.links) {
    text += fmt::format(" {}-{}:{}Mb/s+{}ns", topology.name_of(link.ends[0]), topology.name_of(link.ends[1]),
                        link.rate_bps / kMegabit, link.delay.count());
    for (const network::Outage& outage : link.outages) {
      text += fmt::format(",down@{}..{}us", outage.down.count() / 1000, outage.up->count() / 1000);
    }
  }
  for (const network::Switch& each : topology.switches) {
    text += fmt::format(" {}:{}", each.name, topology.profiles[each.profile].name);
  }
  for (const network::Profile& profile : topology.profiles) text += " " + describe(profile);
  return text;
}

}  // namespace urnic::sim
