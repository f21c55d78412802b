// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NeighborHost: a neighbor cache with a clock and a wire, for tests.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "nic/path/neighbor_cache.h"
#include "transport/wire/arp.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/icmpv6_nd.h"
#include "transport/wire/ipv6.h"

namespace urnic::nic::test {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
using transport::wire::Gid;
using transport::wire::Mac;

inline Gid gid(std::string_view text) {
  return Gid::parse(text).value();
}
inline Mac mac(std::string_view text) {
  return Mac::parse(text).value();
}

/// The host `n` of pcap_fixtures/arp_nd_linux.pcap: 02:00:00:00:00:0n, 10.9.0.n, fd09::n.
inline DeviceConfig config_of_host(std::uint8_t n) {
  DeviceConfig config;
  config.mac = Mac{{0x02, 0, 0, 0, 0, n}};
  config.ipv4 = Ipv4Interface{.address = transport::wire::Ipv4Address{{10, 9, 0, n}}};
  Gid ipv6 = gid("fd09::");
  ipv6.octets[15] = n;
  config.ipv6 = Ipv6Interface{.address = ipv6};
  return config;
}

/// The cache, the time, and what it sends.
class NeighborHost {
 public:
  explicit NeighborHost(const DeviceConfig& config) : gids_(config), cache_(config, gids_) {}
  explicit NeighborHost(std::uint8_t n) : NeighborHost(config_of_host(n)) {}

  NeighborCache& cache() { return cache_; }
  transport::Time now() const { return now_; }

  /// Lets time pass, in steps as the cache asks for them, and keeps what it sends meanwhile.
  void run_for(transport::Duration duration) {
    const transport::Time end = now_ + duration;
    while (cache_.next_timeout() <= end) {
      now_ = std::max(now_, cache_.next_timeout());
      cache_.on_timeout(now_);
      transmit();
    }
    now_ = end;
  }

  /// Gets over with the announcements and forgets them.
  NeighborHost& after_announcements() {
    run_for(10s);
    sent_.clear();
    return *this;
  }

  /// Everything sent since the last call.
  std::vector<Bytes> take_sent() {
    transmit();
    return std::exchange(sent_, {});
  }

  bool receive(std::span<const std::byte> frame) { return cache_.on_frame(frame, now_); }
  NeighborCache::Lookup resolve(std::string_view address) { return cache_.resolve(gid(address), now_); }
  NeighborState state_of(std::string_view address) { return resolve(address).state; }
  void suspect(std::string_view address) { cache_.suspect(gid(address), now_); }
  void learn(std::string_view address, std::string_view from) { cache_.learn(gid(address), mac(from), now_); }
  std::uint64_t counter(NeighborCounter which) const { return cache_.counter(which); }

 private:
  void transmit() {
    std::array<std::byte, NeighborCache::kMaxFrameBytes> frame;
    while (const std::size_t size = cache_.poll_transmit(frame, now_)) {
      sent_.emplace_back(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    }
  }

  const GidTable gids_;
  NeighborCache cache_;
  transport::Time now_{};
  std::vector<Bytes> sent_;
};

/// Ethernet header and message in one frame.
template <typename Message>
Bytes frame_of(const Message& message, std::string_view from, std::string_view to) {
  using namespace transport::wire;
  constexpr bool is_arp = std::is_same_v<Message, Arp>;
  Bytes frame(100);
  const std::size_t at = emit(Ethernet{.destination = mac(to),
                                       .source = mac(from),
                                       .vlan_tags = {},
                                       .ether_type = is_arp ? EtherType::kArp : EtherType::kIpv6},
                              frame);
  frame.resize(at + emit(message, std::span(frame).subspan(at)));
  return frame;
}

/// The host at `sender_mac` says by ARP that `sender` is there, and asks all hosts for `target`.
inline Bytes arp_request(std::string_view sender_mac, std::string_view sender, std::string_view target) {
  using namespace transport::wire;
  return frame_of(Arp{.operation = Arp::Operation::kRequest,
                      .sender_mac = mac(sender_mac),
                      .sender_ip = Ipv4Address::parse(sender).value(),
                      .target_ip = Ipv4Address::parse(target).value()},
                  sender_mac, "ff:ff:ff:ff:ff:ff");
}

}  // namespace urnic::nic::test
