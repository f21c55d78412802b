// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/check/modelled_pauses.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "tests/unit/check/congestion_frames.h"
#include "tests/unit/drivers/network/rig.h"

namespace urnic::check::test {
namespace {

using namespace std::chrono_literals;
using network::test::at;
using network::test::host;

constexpr std::size_t kHosts = 5;
constexpr std::uint64_t kRateBps = 100 * network::test::kGigabit;
constexpr auto kDelay = 1us;

/// Takes the frames of one link as they pass one of its ends.
class LinkTap : public network::Observer {
 public:
  LinkTap(network::LinkId link, std::size_t end) : link_(link), end_(end) {}

  void on_send(network::PortId port, std::span<const std::byte> frame, network::Time time) override {
    if (network::link_of(port) != link_) return;
    std::int64_t ns = time.time_since_epoch().count();
    if (network::end_of(port) != end_) {
      ns += static_cast<std::int64_t>((std::max<std::size_t>(frame.size(), 60) + 24) * 8 * 1'000'000'000 /
                                      kRateBps);
      ns += std::chrono::nanoseconds(kDelay).count();
    }
    frames.push_back({.bytes = {frame.begin(), frame.end()}, .bytes_on_wire = frame.size(), .time_ns = ns});
  }

  std::vector<CapturedFrame> frames;

 private:
  network::LinkId link_;
  std::size_t end_;
};

/// Hosts that always have a datagram for the first one.
class Senders : public network::Sink {
 public:
  explicit Senders(network::Network& network) : network_(network) {}

  void run(network::Time until) {
    for (std::size_t from = 1; from < kHosts; ++from) refill(from, now_);
    network_.run_until(until, *this);
    now_ = until;
  }
  void deliver(network::HostId, std::span<const std::byte>, network::Time) override {}
  void on_room(network::HostId from, unsigned, network::Time time) override {
    if (from != host(0)) refill(static_cast<std::size_t>(from), time);
  }

 private:
  void refill(std::size_t from, network::Time now) {
    while (true) {
      const CapturedFrame frame =
          frame_of({.from = mac_of_modelled(from), .to = mac_of_modelled(0), .number = numbers_[from]});
      if (network_.room(host(from), network::test::kLosslessPriority) < frame.bytes.size()) return;
      ++numbers_[from];
      ASSERT_EQ(network_.send(host(from), frame.bytes, now), network::Network::SendResult::kQueued);
    }
  }

  network::Network& network_;
  network::Time now_{};
  std::uint32_t numbers_[kHosts] = {};
};

}  // namespace

Mac mac_of_modelled(std::size_t host) {
  Mac mac;
  const auto of_rig = network::test::mac_of_host(host);
  std::copy(of_rig.octets.begin(), of_rig.octets.end(), mac.octets.begin());
  return mac;
}

ModelledLink capture_modelled_link(Place place, bool receiver_pauses) {
  network::Profile profile;
  profile.buffer_bytes = 4 << 20;
  profile.priorities[network::test::kLosslessPriority].lossless =
      network::Lossless{.xoff_bytes = 20'000, .xon_offset_bytes = 3'000, .headroom_bytes = 28'000};
  network::Network network(network::test::star(kHosts, profile, kRateBps, kDelay), 1);
  network::test::attach_all(network);
  const network::LinkId link = network::test::link(place == Place::kReceiverAtHost ? 0 : 1);
  LinkTap tap(link, place == Place::kSenderAtSwitch ? 1 : 0);
  network.set_observer(&tap);
  Senders senders(network);
  senders.run(at(50us));
  if (receiver_pauses) network.set_receive_pause(host(0), network::test::kLosslessPriority, true, at(50us));
  senders.run(at(350us));
  if (receiver_pauses) network.set_receive_pause(host(0), network::test::kLosslessPriority, false, at(350us));
  senders.run(at(400us));
  network.set_observer(nullptr);
  std::stable_sort(tap.frames.begin(), tap.frames.end(),
                   [](const CapturedFrame& a, const CapturedFrame& b) { return a.time_ns < b.time_ns; });
  ModelledLink result{.frames = std::move(tap.frames)};
  for (const std::size_t end : {0, 1}) {
    result.pauses_sent +=
        network.counters(network::port_id(link, end))[network::test::kLosslessPriority].pauses_sent;
  }
  return result;
}

}  // namespace urnic::check::test
