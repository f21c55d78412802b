// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NeighborCache: which MAC an address is reached at, by ARP and IPv6 neighbor discovery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/neighbor_frames.h"
#include "nic/path/neighbor_table.h"
#include "nic/port/vlan.h"
#include "transport/counters.h"
#include "transport/enum_names.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/icmpv6_nd.h"

namespace urnic::nic {

/// What the cache counts.
enum class NeighborCounter : std::uint8_t {
  kRequestsSent,      ///< ARP requests and neighbor solicitations, announcements not included
  kRepliesSent,       ///< ARP replies and neighbor advertisements
  kRepliesDropped,    ///< not sent: more questions at once than the queue of replies holds
  kMalformed,         ///< ARP or ND frames that say nothing sensible
  kUnreachable,       ///< addresses that no host answered for
  kMacChanged,        ///< a known neighbor moved to another MAC
  kAddressConflicts,  ///< another host claims an address of ours
};

/// "" for what is no counter.
constexpr std::string_view name_of(NeighborCounter counter) {
  using enum NeighborCounter;
  switch (counter) {
    case kRequestsSent:
      return "neighbor_requests_sent";
    case kRepliesSent:
      return "neighbor_replies_sent";
    case kRepliesDropped:
      return "neighbor_replies_dropped";
    case kMalformed:
      return "neighbor_malformed";
    case kUnreachable:
      return "neighbor_unreachable";
    case kMacChanged:
      return "neighbor_mac_changed";
    case kAddressConflicts:
      return "neighbor_address_conflicts";
  }
  return "";
}

/// Asks for and answers for addresses on the link: ARP for IPv4-mapped GIDs, neighbor discovery for the
/// others, the link-local one included. Every address is taken to be on the link, whatever its prefix: no
/// gateway can be configured. Where the medium carries IP packets there is nothing to ask, and every address
/// that a host can have is reachable.
///
/// A sans-I/O state machine like the transport's: inputs resolve(), ask_anew(), suspect(), learn(),
/// on_frame(), on_timeout(); after any of them poll_transmit() says what to send. All calls under the engine
/// lock, except counter(). Nothing allocates after construction. Frames never add entries, only resolve() and
/// learn() do: what a stranger sends can change the MAC of a neighbor we know (that is ARP's nature) but
/// grows nothing.
///
/// A reachable entry does not grow stale by itself. The cache asks for it again when traffic to it seems lost
/// (suspect()), and changes it when the neighbor says so; a restarted peer announces itself, as we do at
/// start.
class NeighborCache {
 public:
  /// `gids` must outlive it.
  NeighborCache(const DeviceConfig& config, const GidTable& gids);

  /// kUnknown: not in the table, and no room for it now (the cache is asking for 1024 neighbors); ask again
  /// later.
  using State = NeighborState;

  struct Lookup {
    State state = State::kUnknown;
    transport::wire::Mac mac;  ///< meaningful when kReachable
  };

  /// The MAC of the next hop. Own addresses have our own MAC at once, multicast groups their mapped MAC. The
  /// cache begins to ask for unknown addresses, and asks for unreachable ones again at most once a second.
  /// kFailed at once for addresses that no host can have (unspecified) or for IPv4 ones without an own IPv4
  /// address.
  Lookup resolve(const transport::wire::Gid& destination, transport::Time now);

  /// A program asks for this address: if no host answered before, asks again now instead of a second later.
  void ask_anew(const transport::wire::Gid& destination, transport::Time now);

  /// Traffic to this address seems lost (an ACK timeout). Asks again soon, rate limited; meanwhile, and if no
  /// host answers, the old MAC goes on to be used: the queue pair's retry counter decides when to give up.
  void suspect(const transport::wire::Gid& destination, transport::Time now);

  /// A frame from `mac` passed all checks of a connected queue pair whose peer is `source`. Adds or revives
  /// the entry; a reachable entry with another MAC is not changed by it but asked for again.
  void learn(const transport::wire::Gid& source, const transport::wire::Mac& mac, transport::Time now);

  /// Takes ARP, neighbor solicitations and neighbor advertisements; returns whether `frame` was one of
  /// these (well formed or not, for us or not). Frames of another VLAN are none.
  bool on_frame(std::span<const std::byte> frame, transport::Time now);

  /// Writes the next frame that should leave to the front of `frame` (room for kMaxFrameBytes) and returns
  /// its size, or 0 when there is none: replies first, then requests, then announcements.
  std::size_t poll_transmit(std::span<std::byte> frame, transport::Time now);
  static constexpr std::size_t kMaxFrameBytes = kMaxNeighborFrameBytes;

  void on_timeout(transport::Time now);
  /// When on_timeout() and poll_transmit() have to be called next; not in the future while frames wait to be
  /// sent.
  transport::Time next_timeout() const;

  /// Changes whenever the state or the MAC of any entry changes, so that looked-up MACs may be kept
  /// meanwhile.
  std::uint32_t generation() const { return generation_; }

  /// What is known about an address, without asking for it; null when it is not in the table.
  const Neighbor* find(const transport::wire::Gid& address) const { return table_.find(address); }

  /// Any thread.
  std::uint64_t counter(NeighborCounter which) const {
    return counters_[transport::to_integer(which)].value();
  }

 private:
  struct Reply {
    transport::wire::Gid own;  ///< the address of ours that the request names
    transport::wire::Gid to;   ///< the sender of the request
    transport::wire::Mac to_mac;
  };
  static constexpr std::size_t kMaxReplies = 256;

  void on_arp(std::span<const std::byte> payload);
  void on_neighbor_message(std::span<const std::byte> packet, const transport::wire::Mac& sender);
  void on_solicitation(const transport::wire::NeighborMessage& message, const transport::wire::Mac& sender);
  void on_advertisement(const transport::wire::NeighborMessage& message);
  void queue_reply(const Reply& reply);

  bool is_own(const transport::wire::Gid& gid) const { return gids_.contains(gid); }
  void confirm(Neighbor& entry, const transport::wire::Mac& mac);
  void start_asking(Neighbor& entry, transport::Time now);
  void stop_asking(Neighbor& entry);
  void make_room_known();
  void queue_request(Neighbor& entry);
  Neighbor* next_request();

  std::size_t poll_announcement(std::span<std::byte> frame, transport::Time now);
  transport::wire::Gid source_for(const transport::wire::Gid& target) const;

  void count(NeighborCounter which) { counters_[transport::to_integer(which)].add(1); }

  LinkSource own_;
  const GidTable& gids_;
  NeighborTable table_;
  std::uint32_t generation_ = 0;
  bool has_refused_ = false;                           // an address, because there was no room
  transport::Time next_deadline_ = transport::kNever;  // of all entries; may be too early, never too late

  // Entries with a request to be sent, first come first served. Each is in it at most once.
  std::array<NeighborTable::Index, NeighborTable::kCapacity> requests_{};
  std::size_t first_request_ = 0;
  std::size_t request_count_ = 0;

  std::array<Reply, kMaxReplies> replies_{};
  std::size_t first_reply_ = 0;
  std::size_t reply_count_ = 0;

  // Announcements: the next own address of the current round, and when the round is due.
  std::size_t announcement_round_ = 0;
  std::size_t announcement_gid_ = 0;
  transport::Time announcement_time_{};

  std::array<transport::CounterCell, transport::count_of<NeighborCounter>()> counters_;
};

}  // namespace urnic::nic
