// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/neighbor_cache.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "nic/path/neighbor_frames.h"
#include "transport/wire/arp.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/icmpv6_nd.h"
#include "transport/wire/ipv6.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;
using namespace std::chrono_literals;
using transport::Duration;
using transport::kNever;
using transport::Time;
using transport::to_integer;

/// How long to wait for an answer to each request of a series; as many requests are sent.
constexpr std::array<Duration, 4> kAnswerTimes = {100ms, 200ms, 400ms, 800ms};

/// From the beginning of a series that was answered, or the end of one that was not, to the next.
constexpr Duration kQuietTime = 1s;

/// From the start to the first announcement, and from each to the next. More than one, because a port may
/// have no peer yet (a vhost-user back looks for its front once a second).
constexpr std::array<Duration, 4> kAnnouncementDelays = {0ms, 200ms, 1000ms, 2000ms};

constexpr Ipv4Address kLimitedBroadcast{{255, 255, 255, 255}};

/// A MAC that one station can have.
bool is_station(const Mac& mac) {
  return !mac.is_multicast() && mac != Mac{};
}

/// An address that one station can have.
bool is_station(const Gid& gid) {
  if (gid.is_ipv4_mapped()) {
    const Ipv4Address ipv4 = gid.ipv4();
    return !ipv4.is_unspecified() && !ipv4.is_multicast() && ipv4 != kLimitedBroadcast;
  }
  return !gid.is_unspecified() && !gid.is_multicast();
}

/// The MAC of a group's address.
Mac group_mac(const Gid& gid) {
  if (!gid.is_ipv4_mapped()) return multicast_mac(gid);
  return gid.ipv4() == kLimitedBroadcast ? Mac::broadcast() : multicast_mac(gid.ipv4());
}

bool is_group(const Gid& gid) {
  return gid.is_ipv4_mapped() ? gid.ipv4().is_multicast() || gid.ipv4() == kLimitedBroadcast
                              : gid.is_multicast();
}

/// Whether an IPv6 packet is, or pretends to be, one of neighbor discovery's messages that concern us.
bool looks_like_neighbor_message(std::span<const std::byte> packet) {
  if (packet.size() <= Ipv6::kBytes || load_u8(packet, 6) != to_integer(IpProtocol::kIcmpv6)) return false;
  const auto type = static_cast<NeighborMessage::Type>(load_u8(packet, Ipv6::kBytes));
  return type == NeighborMessage::Type::kSolicitation || type == NeighborMessage::Type::kAdvertisement;
}

}  // namespace

NeighborCache::NeighborCache(const DeviceConfig& config, const GidTable& gids)
    : own_(config.link_source()), gids_(gids) {
  if (own_.medium == Medium::kIp) announcement_round_ = kAnnouncementDelays.size();
}

// --- Lookup ---

NeighborCache::Lookup NeighborCache::resolve(const Gid& destination, Time now) {
  if (own_.medium == Medium::kIp) {
    const bool can_send = !destination.is_unspecified() && gids_.has_like(destination);
    return {.state = can_send ? State::kReachable : State::kFailed, .mac = {}};
  }
  Neighbor* entry = table_.find(destination);
  if (entry == nullptr) {
    if (is_own(destination)) return {.state = State::kReachable, .mac = own_.mac};
    if (is_group(destination)) return {.state = State::kReachable, .mac = group_mac(destination)};
    const bool can_ask = !destination.is_ipv4_mapped() || gids_.address_at(GidTable::kIpv4).has_value();
    if (!is_station(destination) || !can_ask) return {.state = State::kFailed, .mac = {}};
    entry = table_.add(destination);
    if (entry == nullptr) {
      has_refused_ = true;
      return {.state = State::kUnknown, .mac = {}};
    }
    start_asking(*entry, now);
  }
  entry->used_at = now;
  if (entry->state == State::kFailed && now >= entry->quiet_until) start_asking(*entry, now);
  return {.state = entry->state, .mac = entry->mac};
}

// Linux, too, asks at once for a neighbor that has failed when something is to go there:
// net/core/neighbour.c, __neigh_event_send().
void NeighborCache::ask_anew(const Gid& destination, Time now) {
  Neighbor* const entry = table_.find(destination);
  if (entry != nullptr && entry->state == State::kFailed) start_asking(*entry, now);
}

void NeighborCache::suspect(const Gid& destination, Time now) {
  Neighbor* const entry = table_.find(destination);
  if (entry != nullptr && !entry->asking && now >= entry->quiet_until) start_asking(*entry, now);
}

void NeighborCache::learn(const Gid& source, const Mac& mac, Time now) {
  if (own_.medium == Medium::kIp || !is_station(mac)) return;
  Neighbor* entry = table_.find(source);
  if (entry == nullptr) {
    if (!is_station(source) || is_own(source)) return;
    entry = table_.add(source);
    if (entry == nullptr) return;
    entry->used_at = now;
  }
  if (entry->state == State::kReachable && entry->mac != mac) {
    suspect(source, now);
    return;
  }
  confirm(*entry, mac);
}

void NeighborCache::confirm(Neighbor& entry, const Mac& mac) {
  stop_asking(entry);
  if (entry.state == State::kReachable && entry.mac == mac) return;
  if (entry.state == State::kReachable) count(NeighborCounter::kMacChanged);
  entry.state = State::kReachable;
  entry.mac = mac;
  ++generation_;
}

// --- Asking ---

void NeighborCache::start_asking(Neighbor& entry, Time now) {
  entry.asking = true;
  entry.requests_sent = 0;
  entry.quiet_until = now + kQuietTime;
  if (entry.state != State::kReachable) {
    entry.state = State::kProbing;
    ++generation_;
  }
  queue_request(entry);
}

void NeighborCache::stop_asking(Neighbor& entry) {
  entry.asking = false;
  make_room_known();
}

/// Callers that were refused because there was no room may try again.
void NeighborCache::make_room_known() {
  if (has_refused_) {
    has_refused_ = false;
    ++generation_;
  }
}

void NeighborCache::queue_request(Neighbor& entry) {
  if (entry.request_queued) return;
  assert(request_count_ < requests_.size());
  requests_[(first_request_ + request_count_) % requests_.size()] = table_.index_of(entry);
  ++request_count_;
  entry.request_queued = true;
}

/// Takes the next entry that still needs a request from the queue; null when there is none.
Neighbor* NeighborCache::next_request() {
  while (request_count_ > 0) {
    Neighbor& entry = table_.at(requests_[first_request_]);
    first_request_ = (first_request_ + 1) % requests_.size();
    --request_count_;
    entry.request_queued = false;
    if (entry.asking) return &entry;
    make_room_known();
  }
  return nullptr;
}

void NeighborCache::on_timeout(Time now) {
  if (now < next_deadline_) return;
  next_deadline_ = kNever;
  table_.for_each([&](Neighbor& entry) {
    if (!entry.asking || entry.request_queued) return;
    if (now < entry.deadline) {
      next_deadline_ = std::min(next_deadline_, entry.deadline);
      return;
    }
    if (entry.requests_sent < kAnswerTimes.size()) {
      queue_request(entry);
      return;
    }
    stop_asking(entry);
    entry.quiet_until = now + kQuietTime;
    if (entry.state == State::kProbing) {
      entry.state = State::kFailed;
      ++generation_;
      count(NeighborCounter::kUnreachable);
    }
  });
}

Time NeighborCache::next_timeout() const {
  if (reply_count_ > 0 || request_count_ > 0) return Time{};
  return announcement_round_ < kAnnouncementDelays.size() ? std::min(next_deadline_, announcement_time_)
                                                          : next_deadline_;
}

// --- Frames received ---

bool NeighborCache::on_frame(std::span<const std::byte> frame, Time) {
  const auto parsed = Ethernet::parse(frame);
  if (!parsed || !is_on_vlan(parsed.value(), own_.vlan)) return false;
  const Ethernet& ethernet = parsed.value();
  const std::span<const std::byte> payload = frame.subspan(ethernet.header_bytes());
  const bool is_arp = ethernet.ether_type == EtherType::kArp;
  if (!is_arp && !(ethernet.ether_type == EtherType::kIpv6 && looks_like_neighbor_message(payload))) {
    return false;
  }
  // Neither what others say to each other, nor our own broadcasts coming back.
  const bool for_us = ethernet.destination == own_.mac || ethernet.destination.is_multicast();
  if (!for_us || ethernet.source == own_.mac) return true;
  if (is_arp) {
    on_arp(payload);
  } else {
    on_neighbor_message(payload, ethernet.source);
  }
  return true;
}

// Requests, replies and gratuitous ones say the same about the sender (RFC 826).
void NeighborCache::on_arp(std::span<const std::byte> payload) {
  const std::optional<Arp> arp = Arp::parse(payload);
  if (!arp || !is_station(arp->sender_mac)) {
    count(NeighborCounter::kMalformed);
    return;
  }
  if (arp->sender_mac == own_.mac) return;
  const Gid sender = Gid::from_ipv4(arp->sender_ip);
  if (is_own(sender)) {
    count(NeighborCounter::kAddressConflicts);
    return;
  }
  // A sender of 0.0.0.0 asks whether the address is free (RFC 5227); it has none that could be in the table.
  if (Neighbor* const entry = table_.find(sender)) confirm(*entry, arp->sender_mac);
  const Gid target = Gid::from_ipv4(arp->target_ip);
  if (arp->operation == Arp::Operation::kRequest && is_own(target)) {
    queue_reply({.own = target, .to = sender, .to_mac = arp->sender_mac});
  }
}

void NeighborCache::on_neighbor_message(std::span<const std::byte> packet, const Mac& sender) {
  const std::optional<NeighborMessage> message = NeighborMessage::parse(packet);
  const bool has_sane_macs =
      message && is_station(message->link_layer_address.value_or(sender)) && is_station(sender);
  if (!has_sane_macs || message->target.is_ipv4_mapped() || message->source.is_ipv4_mapped()) {
    count(NeighborCounter::kMalformed);
    return;
  }
  if (message->type == NeighborMessage::Type::kSolicitation) {
    on_solicitation(*message, sender);
  } else {
    on_advertisement(*message);
  }
}

// RFC 4861 section 7.2.3, but that a stranger's question adds no entry.
void NeighborCache::on_solicitation(const NeighborMessage& message, const Mac& sender) {
  if (is_own(message.source)) {
    count(NeighborCounter::kAddressConflicts);
    return;
  }
  if (!is_own(message.target)) return;
  if (message.link_layer_address) {
    if (Neighbor* const entry = table_.find(message.source)) confirm(*entry, *message.link_layer_address);
  }
  queue_reply(
      {.own = message.target, .to = message.source, .to_mac = message.link_layer_address.value_or(sender)});
}

// RFC 4861 section 7.2.5, with one state of reachability instead of its four.
void NeighborCache::on_advertisement(const NeighborMessage& message) {
  if (is_own(message.target)) {
    count(NeighborCounter::kAddressConflicts);
    return;
  }
  Neighbor* const entry = table_.find(message.target);
  if (entry == nullptr) return;
  const bool is_known = entry->state == State::kReachable;
  if (!message.link_layer_address) {
    if (is_known && message.solicited) stop_asking(*entry);
    return;
  }
  const bool differs = is_known && entry->mac != *message.link_layer_address;
  if (!differs || message.replaces) confirm(*entry, *message.link_layer_address);
}

void NeighborCache::queue_reply(const Reply& reply) {
  if (reply_count_ == replies_.size()) {
    count(NeighborCounter::kRepliesDropped);
    return;
  }
  replies_[(first_reply_ + reply_count_) % replies_.size()] = reply;
  ++reply_count_;
}

// --- Frames to send ---

std::size_t NeighborCache::poll_transmit(std::span<std::byte> frame, Time now) {
  assert(frame.size() >= kMaxFrameBytes);
  if (reply_count_ > 0) {
    const Reply& reply = replies_[first_reply_];
    first_reply_ = (first_reply_ + 1) % replies_.size();
    --reply_count_;
    count(NeighborCounter::kRepliesSent);
    return write_answer(own_, reply.own, reply.to, reply.to_mac, frame);
  }
  if (Neighbor* const entry = next_request()) {
    entry->deadline = now + kAnswerTimes[entry->requests_sent];
    ++entry->requests_sent;
    next_deadline_ = std::min(next_deadline_, entry->deadline);
    count(NeighborCounter::kRequestsSent);
    return write_question(own_, source_for(entry->address), entry->address, frame);
  }
  return poll_announcement(frame, now);
}

/// The address of ours to ask with. resolve() has seen to it that there is one.
Gid NeighborCache::source_for(const Gid& target) const {
  const Gid link_local = *gids_.address_at(GidTable::kLinkLocal);
  if (target.is_ipv4_mapped()) return *gids_.address_at(GidTable::kIpv4);
  return target.is_link_local() ? link_local : gids_.address_at(GidTable::kIpv6).value_or(link_local);
}

std::size_t NeighborCache::poll_announcement(std::span<std::byte> frame, Time now) {
  if (announcement_round_ == kAnnouncementDelays.size() || now < announcement_time_) return 0;
  while (announcement_gid_ < gids_.address_count()) {
    if (const auto own = gids_.address_at(announcement_gid_++)) return write_announcement(own_, *own, frame);
  }
  announcement_gid_ = 0;
  if (++announcement_round_ < kAnnouncementDelays.size()) {
    announcement_time_ = now + kAnnouncementDelays[announcement_round_];
  }
  return 0;
}

}  // namespace urnic::nic
