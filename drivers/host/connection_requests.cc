// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/connection_requests.h"

#include <variant>

#include "drivers/host/management_packet.h"
#include "nic/cm/message.h"
#include "nic/rdma_cm/private_header.h"
#include "transport/types.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::drivers {

namespace cm = nic::cm;
namespace wire = transport::wire;
using transport::to_integer;

namespace {

struct Asked {
  cm::ServiceId service{};
  RequestName name;
};

/// What a request asks for; nothing when the message is no request.
std::optional<Asked> asked_by(const cm::Message& message, const wire::Gid& sender) {
  if (const auto* const req = std::get_if<cm::Req>(&message)) {
    return Asked{req->service_id, {.sender = req->local_ca_guid, .id = to_integer(req->local_id)}};
  }
  if (const auto* const request = std::get_if<cm::SidrReq>(&message)) {
    const std::uint64_t end = wire::load_u64(std::as_bytes(std::span(sender.octets)), 8);
    return Asked{request->service_id,
                 {.sender = end, .id = to_integer(request->request_id), .is_for_datagrams = true}};
  }
  return std::nullopt;
}

std::optional<RequestedService> place_of(const Asked& asked, const wire::Gid& destination) {
  const auto wanted = nic::rdma_cm::parse_service_id(asked.service);
  if (!wanted) return std::nullopt;
  nic::rdma_cm::SocketAddress at;
  at.family = destination.is_ipv4_mapped() ? nic::rdma_cm::SocketAddress::Family::kIpv4
                                           : nic::rdma_cm::SocketAddress::Family::kIpv6;
  at.address = destination;
  at.port = wanted->port;
  return RequestedService{.space = wanted->space, .destination = at, .name = asked.name};
}

}  // namespace

void ConnectionRequests::on_packet(std::span<const std::byte> bytes, Time now) {
  wire::Frame frame;
  wire::Packet packet;
  if (frame.read_ip_packet(bytes) || packet.read(frame.ib)) {
    ++counters_.malformed;
    return;
  }
  if (!is_intact(frame, identifications_)) {
    ++counters_.malformed;
    return show_damaged(packet, frame, bytes);
  }
  if (!is_for_management(packet)) {
    ++counters_.stray;
    return;
  }
  const auto parsed = cm::parse(packet.payload);
  const auto* const mad = std::get_if<cm::Mad>(&parsed);
  if (mad == nullptr) {
    // A process's connection manager knows how to answer what it cannot read.
    if (cm::unreadable_request(packet.payload)) return refuse(bytes);
    ++counters_.malformed;
    return;
  }
  const auto asked = asked_by(mad->message, frame.source_gid());
  if (!asked) {
    ++counters_.stray;
    return;
  }
  const auto place = place_of(*asked, frame.destination_gid());
  if (!place) return refuse(bytes);
  if (const auto slot = given_.find(place->name, now)) return give(*slot, *place, bytes, now);
  if (const auto slot = members_.listener_of(*place)) return give(*slot, *place, bytes, now);
  if (!early_.keep(*place, bytes, now)) refuse(bytes);
}

/// The listener's NIC drops it, too, and tells its program if the sender's address was translated on the way.
void ConnectionRequests::show_damaged(const wire::Packet& packet, const wire::Frame& frame,
                                      std::span<const std::byte> bytes) {
  if (!is_for_management(packet)) return;
  const auto parsed = cm::parse(packet.payload);
  const auto* const mad = std::get_if<cm::Mad>(&parsed);
  const auto asked = mad != nullptr ? asked_by(mad->message, frame.source_gid()) : std::nullopt;
  const auto place = asked ? place_of(*asked, frame.destination_gid()) : std::nullopt;
  const auto slot = place ? members_.listener_of(*place) : std::nullopt;
  if (slot) members_.hand_over(*slot, bytes);
}

void ConnectionRequests::on_listen(Time now) {
  early_.offer([this, now](const EarlyRequests::Request& request) {
    const auto slot = members_.listener_of(request.service);
    if (slot) give(*slot, request.service, request.packet, now);
    return slot.has_value();
  });
}

void ConnectionRequests::on_timeout(Time now) {
  while (const auto due = early_.take_due(now)) refuse(due->packet);
}

void ConnectionRequests::give(unsigned slot, const RequestedService& service,
                              std::span<const std::byte> packet, Time now) {
  given_.note(service.name, slot, now);
  ++(members_.hand_over(slot, packet) ? counters_.handed_over : counters_.not_taken);
}

void ConnectionRequests::refuse(std::span<const std::byte> packet) {
  const auto slot = members_.refuser();
  ++(slot && members_.hand_over(*slot, packet) ? counters_.refused : counters_.not_taken);
}

}  // namespace urnic::drivers
