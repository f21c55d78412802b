// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/ends.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace urnic::view {
namespace {

/// A member that is a number of that size, as files may hold anything.
std::optional<std::uint32_t> number_in(const Note& note, const char* member) {
  const auto found = note.find(member);
  if (found == note.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint32_t>();
}

struct Peer {
  std::string address;
  std::uint32_t qp = 0;
};
/// By file and queue pair.
using Peers = std::map<std::pair<std::uint32_t, std::uint32_t>, Peer>;

Peers peers_in_notes(const std::vector<Capture>& captures) {
  Peers peers;
  for (std::uint32_t file = 0; file < captures.size(); ++file) {
    for (const Note& note : captures[file].notes) {
      const auto qp = number_in(note, "qp");
      const auto peer_qp = number_in(note, "peer_qp");
      const auto address = note.find("peer_address");
      if (!qp || !peer_qp || address == note.end() || !address->is_string()) continue;
      peers[{file, *qp}] = {.address = address->get<std::string>(), .qp = *peer_qp};
    }
  }
  return peers;
}

/// The queue pair that sent a packet, by the notes of a NIC that sent or received it.
std::optional<std::uint32_t> sender_in_notes(const Packet& packet, const Peers& peers) {
  for (const Sighting& seen : packet.seen) {
    if (seen.way == Way::kReceived) {
      const auto own = peers.find({seen.file, packet.flow.destination_qp});
      if (own != peers.end()) return own->second.qp;
    }
    if (seen.way != Way::kSent) continue;
    const std::string destination = check::to_string(packet.flow.destination);
    for (auto own = peers.lower_bound({seen.file, 0}); own != peers.end() && own->first.first == seen.file;
         ++own) {
      if (own->second.qp == packet.flow.destination_qp && own->second.address == destination) {
        return own->first.second;
      }
    }
  }
  return std::nullopt;
}

class Finder {
 public:
  Finder(const std::vector<Capture>& captures, Trace& trace)
      : trace_(trace), peers_(peers_in_notes(captures)) {
    for (const Capture& capture : captures) {
      senders_.insert(capture.senders.begin(), capture.senders.end());
      services_.insert(capture.services.begin(), capture.services.end());
    }
  }

  void place(Packet& packet) {
    const auto known = by_flow_.find(packet.flow);
    const auto [connection, from] = known != by_flow_.end() ? known->second : find(packet);
    packet.connection = connection;
    packet.from = from;
    Connection& to = trace_.connections[connection];
    ++to.packets;
    to.bytes += packet.payload_bytes;
    for (const Sighting& seen : packet.seen) {
      if (seen.way == Way::kSent) to.ends[from].file = seen.file;
      if (seen.way == Way::kReceived && !to.ends[1 - from].file) to.ends[1 - from].file = seen.file;
    }
  }

 private:
  using Place = std::pair<std::size_t, unsigned>;
  using EndKey = std::pair<std::array<std::uint8_t, 16>, std::optional<std::uint32_t>>;

  std::optional<std::uint32_t> sender_of(const Packet& packet) {
    if (const auto told = sender_in_notes(packet, peers_)) return told;
    const auto found = senders_.find(packet.flow);
    return found == senders_.end() ? std::nullopt : std::optional(found->second);
  }

  Place find(const Packet& packet) {
    const End sender{.address = packet.flow.source, .qp = sender_of(packet), .file = {}};
    const End receiver{.address = packet.flow.destination, .qp = packet.flow.destination_qp, .file = {}};
    const EndKey a{sender.address.octets, sender.qp};
    const EndKey b{receiver.address.octets, receiver.qp};
    const auto [place, is_new] = by_ends_.emplace(std::minmax(a, b), trace_.connections.size());
    if (is_new) {
      const auto service = services_.find(packet.flow);
      trace_.connections.push_back(
          {.service = service == services_.end() ? "other" : service->second, .ends = {sender, receiver}});
    }
    const unsigned from = trace_.connections[place->second].ends[0] == sender ? 0 : 1;
    return by_flow_[packet.flow] = {place->second, from};
  }

  Trace& trace_;
  Peers peers_;
  Senders senders_;
  std::unordered_map<check::FlowKey, const char*, check::FlowKeyHash> services_;
  std::unordered_map<check::FlowKey, Place, check::FlowKeyHash> by_flow_;
  std::map<std::pair<EndKey, EndKey>, std::size_t> by_ends_;
};

}  // namespace

void find_ends(const std::vector<Capture>& captures, Trace& trace) {
  Finder finder(captures, trace);
  for (Packet& packet : trace.packets) finder.place(packet);
}

}  // namespace urnic::view
