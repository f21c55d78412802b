#include "tools/replay/lane.h"

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
void find_path_mtu(Lane& lane) {
  std::size_t longest = 0;
  for (const Event& event : lane.events) {
    const check::Packet& packet = event.packet->packet;
    longest = std::max(longest, packet.payload_bytes);
    if (!fills_the_path(packet)) continue;
    if (!is_path_mtu(packet.payload_bytes)) {
      lane.obstacle = fmt::format("frame {}: a full packet has {} bytes, which is no path MTU",
                                  event.packet->number, packet.payload_bytes);
      return;
    }
    lane.path_mtu = static_cast<std::uint32_t>(packet.payload_bytes);
    return;
  }
  lane.path_mtu = kUsualMtu;
  while (lane.path_mtu < longest && lane.path_mtu < 4096) lane.path_mtu *= 2;
  if (longest > lane.path_mtu) {
    lane.obstacle = fmt::format("a packet of {} bytes exceeds every path MTU", longest);
  }
}

/// Gives the requests of a lane their extended PSNs.
class RequestCount {
 public:
  explicit RequestCount(const Lane& lane) : lane_(lane) {}

  bool has_begun() const { return requests_ > 0; }
  ExtendedPsn newest() const { return newest_; }

  /// False: the lane ends before this request.
  bool add(Event& event) {
    const check::Packet& packet = event.packet->packet;
    if (!has_begun()) newest_ = ExtendedPsn{packet.psn.value()} - 1;
    event.psn = extended_psn_near(newest_, packet.psn);
    ++requests_;
    if (lane_.service != check::Service::kUd) {
      missing_ += std::max<std::int64_t>(event.psn - newest_ - 1, 0);
      if (missing_ > kMostMissing + requests_ / 4) return false;
    }
    // The responses to a READ have PSNs of their own.
    const bool is_read = packet.info->operation == check::Operation::kRead;
    const ExtendedPsn last = event.psn + (is_read ? lane_.packets_for(packet.length) - 1 : 0);
    newest_ = std::max(newest_, last);
    return true;
  }

 private:
  const Lane& lane_;
  ExtendedPsn newest_ = 0;
  std::int64_t requests_ = 0;
  std::int64_t missing_ = 0;
};

/// Gives every event its extended PSN and drops what comes before the first request that begins a message.
void number_events(Lane& lane) {
  std::vector<Event> kept;
  RequestCount count(lane);
  std::size_t early = 0;
  for (Event event : lane.events) {
    if (!count.has_begun() && !(event.is_request && event.packet->packet.info->starts_message())) {
      ++early;
      continue;
    }
    if (!event.is_request) {
      event.psn = extended_psn_near(count.newest(), event.packet->packet.psn);
    } else if (!count.add(event)) {
      lane.notes.push_back(fmt::format(
          "from frame {} on it is not played: its PSN is far away from those before", event.packet->number));
      break;
    }
    ++(event.is_request ? lane.requests : lane.answers);
    kept.push_back(event);
  }
  if (early > 0) {
    lane.notes.push_back(
        fmt::format("{} packets before the first beginning of a message are not played", early));
  }
  lane.events = std::move(kept);
  if (lane.requests == 0) lane.obstacle = "no request in it begins a message";
}

void find_obstacles(Lane& lane) {
  if (lane.service == check::Service::kXrc) {
    lane.obstacle = "XRC: a capture does not tell which queue pairs share a receive queue";
  } else if (lane.service != check::Service::kRc && lane.service != check::Service::kUc &&
             lane.service != check::Service::kUd) {
    lane.obstacle = fmt::format("{} is not played", to_string(lane.service));
  }
}

}  // namespace

check::Psn psn_of(ExtendedPsn psn) {
  return check::Psn(static_cast<std::uint32_t>(psn & 0xffffff));
}

ExtendedPsn extended_psn_near(ExtendedPsn reference, check::Psn psn) {
  return reference + distance(psn_of(reference), psn);
}

std::int64_t Lane::packets_for(std::uint64_t length) const {
  return std::max<std::int64_t>(static_cast<std::int64_t>((length + path_mtu - 1) / path_mtu), 1);
}

std::vector<Lane> lanes_of(const Capture& capture) {
  const std::vector<check::Flow>& flows = capture.connections().flows();
  // Datagrams of several queue pairs may go to the same one.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  std::vector<Lane> lanes;
  for (const CapturedPacket& packet : capture.packets()) {
    const check::OpcodeInfo& info = *packet.packet.info;
    if (info.service == check::Service::kCnp || info.is_response()) continue;
    const auto [place, is_new] = places.try_emplace({packet.flow, packet.packet.source_qp}, lanes.size());
    if (!is_new) continue;
    const check::Flow& flow = flows[packet.flow];
    Lane& lane = lanes.emplace_back();
    lane.service = info.service;
    lane.responder_qp = flow.key.destination_qp;
    lane.requester_qp = flow.peer ? flows[*flow.peer].key.destination_qp : packet.packet.source_qp;
    lane.name = capture.connections().name_of_flow(packet.flow);
  }
  for (const CapturedPacket& packet : capture.packets()) {
    const check::OpcodeInfo& info = *packet.packet.info;
    if (info.service == check::Service::kCnp) continue;
    const std::uint32_t peer = flows[packet.flow].peer.value_or(check::kNoFlow);
    const std::uint32_t requests_in = info.is_response() ? peer : packet.flow;
    const auto place = places.find({requests_in, packet.packet.source_qp});
    if (place == places.end()) continue;
    Lane& lane = lanes[place->second];
    if (info.service == lane.service) {
      lane.events.push_back({.packet = &packet, .is_request = !info.is_response()});
    }
  }
  for (Lane& lane : lanes) {
    find_obstacles(lane);
    if (lane.obstacle.empty()) find_path_mtu(lane);
    if (lane.obstacle.empty()) number_events(lane);
  }
  return lanes;
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
