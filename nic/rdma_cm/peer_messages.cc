// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the peer's messages mean for ids.
#include <algorithm>
#include <cerrno>

#include "nic/rdma_cm/datagram_service.h"
#include "nic/rdma_cm/private_header.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::nic::rdma_cm {

using cm::CommunicationId;
using cm::Decision;
using cm::RejectReason;
using transport::Psn;

namespace {

/// Programs see private data in their fixed length (CM.md 1).
template <std::size_t kBytes>
PrivateBytes private_bytes(const cm::PrivateData<kBytes>& data, std::size_t from = 0) {
  PrivateBytes bytes;
  bytes.size = static_cast<std::uint8_t>(kBytes - from);
  std::copy(data.begin() + static_cast<std::ptrdiff_t>(from), data.end(), bytes.bytes.begin());
  return bytes;
}

Service service_of(cm::TransportType transport) {
  switch (transport) {
    case cm::TransportType::kRc:
      return Service::kRc;
    case cm::TransportType::kUc:
      return Service::kUc;
    case cm::TransportType::kXrc:
      return Service::kXrc;
  }
  return Service::kRc;
}

/// Whether the private header has the same addresses as the frame. If a router changed one, an answer to it
/// would reach no program.
bool is_genuine(const PrivateHeader& header, const cm::Arrival& from) {
  return header.source.address == from.source && header.destination.address == from.destination;
}

}  // namespace

Id* RdmaCm::find_listener(cm::ServiceId service, const SocketAddress& destination) {
  const auto wanted = parse_service_id(service);
  if (!wanted) return nullptr;
  SocketAddress at = destination.normalized();
  at.port = wanted->port;
  const auto number = ports_.find_listener(wanted->space, at);
  return number ? &ids_.at(*number) : nullptr;
}

/// Null when there are too many ids, or the listener does not want more.
Id* RdmaCm::add_request(Id& listener, CommunicationId communication_id, Service service,
                        const SocketAddress& local, const SocketAddress& peer) {
  if (listener.backlog == 0) return nullptr;
  Id* const id = add_id(*listener.channel, 0, listener.space, service);
  if (id == nullptr) return nullptr;
  id->state = IdState::kConnect;
  id->is_passive = true;
  id->is_on_device = true;
  id->type_of_service = listener.type_of_service;
  id->ack_timeout = listener.ack_timeout;
  id->local = local;
  id->peer = peer;
  id->path = path_between(*id);
  tie(*id, communication_id);
  return id;
}

void RdmaCm::tell_listener(Id& listener, Id& request, const ConnectionParameters& parameters) {
  --listener.backlog;
  Event event{.type = EventType::kConnectRequest, .uid = listener.uid, .id = request.number};
  if (request.service == Service::kUd) {
    event.parameters = DatagramParameters{.private_data = parameters.private_data};
  } else {
    event.parameters = parameters;
  }
  listener.channel->push({.event = event, .owner = listener.number});
}

Decision RdmaCm::offer(CommunicationId communication_id, const cm::Req& req, const cm::Arrival& from) {
  const auto reject = [](RejectReason reason) {
    return Decision{.kind = Decision::Kind::kReject, .reason = reason};
  };
  const auto header = parse_private_header(req.private_data);
  if (!header || !is_genuine(*header, from)) return reject(RejectReason::kInvalidServiceId);
  SocketAddress local = header->destination;
  Id* const listener = find_listener(req.service_id, local);
  if (listener == nullptr || listener->service == Service::kUd) {
    return reject(RejectReason::kInvalidServiceId);
  }
  if (bytes(req.path_mtu) > bytes(path_mtu_to(header->source))) return reject(RejectReason::kInvalidMtu);

  local.port = listener->local.port;
  Id* const id = add_request(*listener, communication_id, service_of(req.transport), local, header->source);
  if (id == nullptr) {
    // The peer asks again, when there may be room.
    report(from, req.service_id,
           {.kind = ConnectionFailure::Kind::kBacklogFull, .service = listener->service});
    return {.kind = Decision::Kind::kIgnore};
  }
  id->path->flow_label = req.path.flow_label;
  id->path->traffic_class = req.path.traffic_class;
  id->path->service_level = req.path.service_level;
  id->path->mtu = req.path_mtu;
  id->is_known = true;
  id->peer_qp = req.local_qp;
  id->peer_psn = req.starting_psn;
  id->own_psn = Psn(random());
  // What the peer can have under way is what we must be able to answer, and the other way round.
  id->responder_resources = req.initiator_depth;
  id->initiator_depth = req.responder_resources;
  id->retry_count = req.retry_count;
  id->rnr_retry_count = req.rnr_retry_count;
  id->agreed_ack_timeout = req.path.local_ack_timeout;
  tell_listener(*listener, *id,
                {.private_data = private_bytes(req.private_data, kPrivateHeaderBytes),
                 .responder_resources = id->responder_resources,
                 .initiator_depth = id->initiator_depth,
                 .flow_control = req.end_to_end_flow_control,
                 .retry_count = req.retry_count,
                 .rnr_retry_count = req.rnr_retry_count,
                 .srq = req.srq,
                 .qp = req.local_qp,
                 .ece = req.ece});
  return {};
}

void RdmaCm::on_refused(const cm::Req& req, RejectReason reason, const cm::Arrival& from) {
  report(from, req.service_id,
         {.kind = ConnectionFailure::Kind::kRefused,
          .service = service_of(req.transport),
          .reason = reason,
          .path_mtu = req.path_mtu});
}

void RdmaCm::on_reply(CommunicationId communication_id, const cm::Rep& rep) {
  Id& id = *find(communication_id);
  id.is_known = true;
  id.peer_qp = rep.queue_pair();
  id.peer_psn = rep.starting_psn;
  id.responder_resources = rep.initiator_depth;
  id.initiator_depth = rep.responder_resources;
  id.rnr_retry_count = rep.rnr_retry_count;
  tell(id, Event{.type = EventType::kConnectResponse,
                 .parameters = ConnectionParameters{.private_data = private_bytes(rep.private_data),
                                                    .responder_resources = id.responder_resources,
                                                    .initiator_depth = id.initiator_depth,
                                                    .flow_control = rep.end_to_end_flow_control,
                                                    .retry_count = id.retry_count,
                                                    .rnr_retry_count = rep.rnr_retry_count,
                                                    .srq = rep.srq,
                                                    .qp = rep.queue_pair(),
                                                    .ece = rep.ece}});
}

void RdmaCm::on_ready(CommunicationId communication_id) {
  tell(*find(communication_id), Event{.type = EventType::kEstablished, .parameters = ConnectionParameters{}});
}

void RdmaCm::on_rejected(CommunicationId communication_id, const cm::Rej& rej) {
  if (find(communication_id) == nullptr) {
    std::erase_if(early_requests_, [&](const EarlyRequest& early) { return early.id == communication_id; });
    return;
  }
  Id& id = *find(communication_id);
  untie(id);
  report(id, {.kind = ConnectionFailure::Kind::kRejected, .reason = rej.reason});
  tell(id, Event{.type = EventType::kRejected,
                 .status = transport::to_integer(rej.reason),
                 .parameters = ConnectionParameters{.private_data = private_bytes(rej.private_data)}});
}

void RdmaCm::on_unanswered(CommunicationId communication_id, const cm::Silence& silence) {
  Id& id = *find(communication_id);
  untie(id);
  report(
      id,
      {.kind = ConnectionFailure::Kind::kNoAnswer, .messages = silence.messages, .waited = silence.waited});
  tell(id, EventType::kUnreachable, -ETIMEDOUT);
}

void RdmaCm::on_disconnect_request(CommunicationId communication_id) {
  tell_once_disconnected(*find(communication_id), 0);
}

void RdmaCm::on_disconnected(CommunicationId communication_id, bool is_answered) {
  tell_once_disconnected(*find(communication_id), is_answered ? 0 : -ETIMEDOUT);
}

void RdmaCm::tell_once_disconnected(Id& id, int status) {
  if (id.state == IdState::kDisconnect) return;
  id.state = IdState::kDisconnect;
  tell(id, Event{.type = EventType::kDisconnected, .status = status, .parameters = ConnectionParameters{}});
}

void RdmaCm::on_timewait_exit(CommunicationId communication_id) {
  Id& id = *find(communication_id);
  untie(id);
  tell(id, EventType::kTimewaitExit);
}

// --- Datagram services ---

/// No program offers the service here.
void RdmaCm::on_refused(const cm::SidrReq& request, const cm::Arrival& from) {
  report(from, request.service_id,
         {.kind = ConnectionFailure::Kind::kRefused,
          .service = Service::kUd,
          .reason = RejectReason::kInvalidServiceId});
}

cm::SidrDecision RdmaCm::offer(CommunicationId communication_id, const cm::SidrReq& request,
                               const cm::Arrival& from) {
  const auto reject = [](cm::SidrStatus status) {
    return cm::SidrDecision{.kind = Decision::Kind::kReject, .status = status};
  };
  const auto header = parse_private_header(request.private_data);
  if (!header || !is_genuine(*header, from)) return reject(cm::SidrStatus::kUnsupported);
  SocketAddress local = header->destination;
  Id* const listener = find_listener(request.service_id, local);
  if (listener == nullptr || listener->service != Service::kUd) return reject(cm::SidrStatus::kUnsupported);
  local.port = listener->local.port;
  Id* const id = add_request(*listener, communication_id, Service::kUd, local, header->source);
  if (id == nullptr) {
    report(from, request.service_id,
           {.kind = ConnectionFailure::Kind::kBacklogFull, .service = Service::kUd});
    return {.kind = Decision::Kind::kIgnore};
  }
  tell_listener(*listener, *id, {.private_data = private_bytes(request.private_data, kPrivateHeaderBytes)});
  return {};
}

void RdmaCm::on_sidr_reply(CommunicationId communication_id, const cm::SidrRep& reply) {
  Id& id = *find(communication_id);
  untie(id);
  const PrivateBytes private_data = private_bytes(reply.private_data);
  if (reply.status != cm::SidrStatus::kSuccess) {
    report(id, {.kind = ConnectionFailure::Kind::kServiceRefused, .status = reply.status});
    // Not kRejected: Linux' rdma_cm says so.
    tell(id, Event{.type = EventType::kUnreachable,
                   .status = transport::to_integer(reply.status),
                   .parameters = DatagramParameters{.private_data = private_data}});
    return;
  }
  tell(id, Event{.type = EventType::kEstablished,
                 .parameters = DatagramParameters{.private_data = private_data,
                                                  .address = address_to_peer(id),
                                                  .qp = reply.qp,
                                                  .qkey = reply.qkey}});
}

}  // namespace urnic::nic::rdma_cm
