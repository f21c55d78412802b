// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/direction.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace urnic::replay {

namespace {

/// So many requests may be missing, and a quarter of those that are there; more is another connection, or
/// nonsense.
constexpr std::int64_t kMostMissing = 4096;
constexpr std::uint32_t kUsualMtu = 1024;

bool is_path_mtu(std::size_t bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

bool fills_the_path(const check::Packet& packet) {
  return packet.info->position == check::Position::kFirst ||
         packet.info->position == check::Position::kMiddle;
}

/// The first full packet tells the path MTU; without one, any that holds the longest packet will do.
void find_path_mtu(Direction& direction) {
  std::size_t longest = 0;
  for (const Event& event : direction.events) {
    const check::Packet& packet = event.packet->packet;
    longest = std::max(longest, packet.payload_bytes);
    if (!fills_the_path(packet)) continue;
    if (!is_path_mtu(packet.payload_bytes)) {
      direction.obstacle = fmt::format("frame {}: a full packet has {} bytes, which is no path MTU",
                                       event.packet->number, packet.payload_bytes);
      return;
    }
    direction.path_mtu = static_cast<std::uint32_t>(packet.payload_bytes);
    return;
  }
  direction.path_mtu = kUsualMtu;
  while (direction.path_mtu < longest && direction.path_mtu < 4096) direction.path_mtu *= 2;
  if (longest > direction.path_mtu) {
    direction.obstacle = fmt::format("a packet of {} bytes exceeds every path MTU", longest);
  }
}

/// Gives the requests of a direction their extended PSNs.
class RequestCount {
 public:
  explicit RequestCount(const Direction& direction) : direction_(direction) {}

  bool has_begun() const { return requests_ > 0; }
  ExtendedPsn newest() const { return newest_; }

  /// False: the direction ends before this request.
  bool add(Event& event) {
    const check::Packet& packet = event.packet->packet;
    if (!has_begun()) newest_ = ExtendedPsn{packet.psn.value()} - 1;
    event.psn = extended_psn_near(newest_, packet.psn);
    ++requests_;
    if (direction_.service != check::Service::kUd) {
      missing_ += std::max<std::int64_t>(event.psn - newest_ - 1, 0);
      if (missing_ > kMostMissing + requests_ / 4) return false;
    }
    // The responses to a READ have PSNs of their own.
    const bool is_read = packet.info->operation == check::Operation::kRead;
    const ExtendedPsn last = event.psn + (is_read ? direction_.packets_for(packet.length) - 1 : 0);
    newest_ = std::max(newest_, last);
    return true;
  }

 private:
  const Direction& direction_;
  ExtendedPsn newest_ = 0;
  std::int64_t requests_ = 0;
  std::int64_t missing_ = 0;
};

/// Gives every event its extended PSN and drops what comes before the first request that begins a message.
void number_events(Direction& direction) {
  std::vector<Event> kept;
  RequestCount count(direction);
  std::size_t early = 0;
  for (Event event : direction.events) {
    if (!count.has_begun() && !(event.is_request && event.packet->packet.info->starts_message())) {
      ++early;
      continue;
    }
    if (!event.is_request) {
      event.psn = extended_psn_near(count.newest(), event.packet->packet.psn);
    } else if (!count.add(event)) {
      direction.notes.push_back(fmt::format(
          "from frame {} on it is not played: its PSN is far away from those before", event.packet->number));
      break;
    }
    ++(event.is_request ? direction.requests : direction.answers);
    kept.push_back(event);
  }
  if (early > 0) {
    direction.notes.push_back(
        fmt::format("{} packets before the first beginning of a message are not played", early));
  }
  direction.events = std::move(kept);
  if (direction.requests == 0) direction.obstacle = "no request in it begins a message";
}

void find_obstacles(Direction& direction) {
  if (direction.service == check::Service::kXrc) {
    direction.obstacle = "XRC: a capture does not tell which queue pairs share a receive queue";
  } else if (direction.service != check::Service::kRc && direction.service != check::Service::kUc &&
             direction.service != check::Service::kUd) {
    direction.obstacle = fmt::format("{} is not played", to_string(direction.service));
  }
}

}  // namespace

check::Psn psn_of(ExtendedPsn psn) {
  return check::Psn(static_cast<std::uint32_t>(psn & 0xffffff));
}

ExtendedPsn extended_psn_near(ExtendedPsn reference, check::Psn psn) {
  return reference + distance(psn_of(reference), psn);
}

std::int64_t Direction::packets_for(std::uint64_t length) const {
  return std::max<std::int64_t>(static_cast<std::int64_t>((length + path_mtu - 1) / path_mtu), 1);
}

std::vector<Direction> directions_of(const Capture& capture) {
  const std::vector<check::Flow>& flows = capture.connections().flows();
  // Datagrams of several queue pairs may go to the same one.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  std::vector<Direction> directions;
  for (const CapturedPacket& packet : capture.packets()) {
    const check::OpcodeInfo& info = *packet.packet.info;
    if (info.service == check::Service::kCnp || info.is_response()) continue;
    const auto [place, is_new] =
        places.try_emplace({packet.flow, packet.packet.source_qp}, directions.size());
    if (!is_new) continue;
    const check::Flow& flow = flows[packet.flow];
    Direction& direction = directions.emplace_back();
    direction.service = info.service;
    direction.responder_qp = flow.key.destination_qp;
    direction.requester_qp = flow.peer ? flows[*flow.peer].key.destination_qp : packet.packet.source_qp;
    direction.name = capture.connections().name_of_flow(packet.flow);
  }
  for (const CapturedPacket& packet : capture.packets()) {
    const check::OpcodeInfo& info = *packet.packet.info;
    if (info.service == check::Service::kCnp) continue;
    const std::uint32_t peer = flows[packet.flow].peer.value_or(check::kNoFlow);
    const std::uint32_t requests_in = info.is_response() ? peer : packet.flow;
    const auto place = places.find({requests_in, packet.packet.source_qp});
    if (place == places.end()) continue;
    Direction& direction = directions[place->second];
    if (info.service == direction.service) {
      direction.events.push_back({.packet = &packet, .is_request = !info.is_response()});
    }
  }
  for (Direction& direction : directions) {
    direction.packets = direction.events.size();
    find_obstacles(direction);
    if (direction.obstacle.empty()) find_path_mtu(direction);
    if (direction.obstacle.empty()) number_events(direction);
  }
  return directions;
}

std::vector<std::string> unplayed_of(const Capture& capture) {
  const std::vector<check::Flow>& flows = capture.connections().flows();
  std::map<std::uint32_t, std::size_t> answers;
  std::set<std::uint32_t> asking;
  std::size_t notifications = 0;
  for (const CapturedPacket& packet : capture.packets()) {
    const check::OpcodeInfo& info = *packet.packet.info;
    if (info.service == check::Service::kCnp) {
      ++notifications;
    } else if (info.is_response()) {
      ++answers[packet.flow];
    } else {
      asking.insert(packet.flow);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [flow, count] : answers) {
    if (flows[flow].peer && asking.count(*flows[flow].peer) != 0) continue;
    lines.push_back(
        fmt::format("{}: {} answers to requests that the capture does not have, or that cannot be told apart",
                    capture.connections().name_of_flow(flow), count));
  }
  if (notifications > 0) lines.push_back(fmt::format("{} congestion notifications", notifications));
  return lines;
}

}  // namespace urnic::replay
