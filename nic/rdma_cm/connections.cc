// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs ask of connections.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "nic/cm/timing.h"
#include "nic/config.h"
#include "nic/errors.h"
#include "nic/rdma_cm/datagram_service.h"
#include "nic/rdma_cm/private_header.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::nic::rdma_cm {

using transport::Psn;
using transport::QpState;
using transport::Time;

namespace {

constexpr std::uint32_t kMaxBacklog = 1024;
/// Both retry counts have three bits.
constexpr std::uint8_t kMaxRetryCount = 7;

std::uint8_t retry_count(std::uint8_t wanted) {
  return std::min(wanted, kMaxRetryCount);
}

cm::TransportType transport_of(Service service) {
  if (service == Service::kUc) return cm::TransportType::kUc;
  return service == Service::kXrc ? cm::TransportType::kXrc : cm::TransportType::kRc;
}

/// Programs' private data, at `at` in a message's.
Result<void, Error> put_private(const PrivateBytes& from, std::size_t at, std::span<std::byte> to) {
  const std::size_t room = to.size() - at;
  if (from.size > room) {
    return failure(Error{.code = EINVAL,
                         .message = "private data of " + std::to_string(from.size) + " bytes do not fit " +
                                    std::to_string(room)});
  }
  std::copy_n(from.bytes.begin(), from.size, to.begin() + static_cast<std::ptrdiff_t>(at));
  return success();
}

cm::MadPath path_for_messages(const Id& id) {
  return {.source = id.path->source,
          .destination = id.path->destination,
          .traffic_class = id.path->traffic_class,
          .service_level = id.path->service_level};
}

/// Whether a queue pair of the connection may go to `to`: as Linux' ib_cm (cm.c, cm_init_qp_*_attr) has it,
/// which knows what for before the end, and the peer's part from its REQ or REP on.
bool is_in_time(cm::State connection, QpState to) {
  switch (connection) {
    case cm::State::kReqSent:
      return to == QpState::kInit;
    case cm::State::kReqReceived:
    case cm::State::kRepSent:
    case cm::State::kRepReceived:
    case cm::State::kEstablished:
      return true;
    default:
      return false;
  }
}

Error wrong_state(const Id& id) {
  return {.code = EINVAL,
          .message = "the id is in state " + std::string(name_of(id.state)) + ", where this means nothing"};
}

}  // namespace

// --- Both sides ---

Step RdmaCm::listen(EventChannel& channel, IdNumber number, std::uint32_t backlog) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (id.state == IdState::kIdle) {
    const SocketAddress any{.family = SocketAddress::Family::kIpv4,
                            .address = transport::wire::Ipv6Address::from_ipv4({})};
    if (auto bound = bind_id(id, any); !bound || bound.value()) return bound;
  }
  if (id.state != IdState::kAddressBound) return failure(wrong_state(id));
  if (host_ != nullptr && !std::exchange(id.may_listen, false)) {
    using Kind = PortQuestion::Kind;
    id.state = IdState::kBinding;
    return PortQuestion{.kind = id.is_port_lent ? Kind::kBind : Kind::kListen,
                        .space = id.space,
                        .binding = binding_of(id, id.local)};
  }
  if (!ports_.listen(id.space, id.local.port, id.number)) {
    return failure(Error{.code = EADDRINUSE, .message = "another id listens at " + to_string(id.local)});
  }
  id.state = IdState::kListen;
  id.backlog = backlog == 0 || backlog > kMaxBacklog ? kMaxBacklog : backlog;
  offer_early_requests();
  return done();
}

Result<void, Error> RdmaCm::connect(EventChannel& channel, IdNumber number,
                                    const ConnectionParameters& parameters, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (id.state != IdState::kRouteResolved) return failure(wrong_state(id));
  if (id.service == Service::kUd) return connect_datagrams(id, parameters, now);

  cm::Req req{.service_id = service_id_of(id.space, id.peer.port),
              .local_qp = parameters.qp,
              .transport = transport_of(id.service),
              .responder_resources = parameters.responder_resources,
              .initiator_depth = parameters.initiator_depth,
              .end_to_end_flow_control = parameters.flow_control,
              .starting_psn = Psn(random()),
              .retry_count = retry_count(parameters.retry_count),
              .rnr_retry_count = retry_count(parameters.rnr_retry_count),
              .path_mtu = id.path->mtu,
              .srq = parameters.srq,
              .ece = parameters.ece};
  req.path = {.local_gid = id.path->source,
              .remote_gid = id.path->destination,
              .flow_label = id.path->flow_label,
              .packet_rate = id.path->rate,
              .traffic_class = id.path->traffic_class,
              .hop_limit = id.path->hop_limit,
              .service_level = id.path->service_level,
              .local_ack_timeout = id.ack_timeout.value_or(cm::kAckTimeout)};
  write_private_header({.source = id.local, .destination = id.peer}, req.private_data);
  if (auto put = put_private(parameters.private_data, kPrivateHeaderBytes, req.private_data); !put) {
    return put;
  }

  const auto communication_id = messages_.request(req, path_for_messages(id), now);
  if (!communication_id) return failure(out_of("there are too many connections"));
  tie(id, *communication_id);
  id.state = IdState::kConnect;
  doubt_if_refused(id, now);
  id.own_psn = req.starting_psn;
  id.responder_resources = parameters.responder_resources;
  id.initiator_depth = parameters.initiator_depth;
  id.retry_count = req.retry_count;
  id.rnr_retry_count = req.rnr_retry_count;
  id.agreed_ack_timeout = req.path.local_ack_timeout;
  return success();
}

/// Asks for the peer's queue pair.
Result<void, Error> RdmaCm::connect_datagrams(Id& id, const ConnectionParameters& parameters, Time now) {
  cm::SidrReq request{.service_id = service_id_of(id.space, id.peer.port)};
  write_private_header({.source = id.local, .destination = id.peer}, request.private_data);
  if (auto put = put_private(parameters.private_data, kPrivateHeaderBytes, request.private_data); !put) {
    return put;
  }
  const auto communication_id = messages_.sidr_request(request, path_for_messages(id), now);
  if (!communication_id) return failure(out_of("there are too many connections"));
  tie(id, *communication_id);
  id.state = IdState::kConnect;
  doubt_if_refused(id, now);
  return success();
}

Result<void, Error> RdmaCm::accept(EventChannel& channel, IdNumber number, Uid uid,
                                   const ConnectionParameters& parameters, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (!id.is_passive || !id.cm || id.state != IdState::kConnect) return failure(wrong_state(id));
  if (id.service == Service::kUd) {
    cm::SidrRep reply{.status = cm::SidrStatus::kSuccess,
                      .qp = parameters.qp,
                      .service_id = service_id_of(id.space, id.local.port),
                      .qkey = parameters.qkey != 0 ? parameters.qkey : kDatagramQkey};
    if (auto put = put_private(parameters.private_data, 0, reply.private_data); !put) {
      reject_unanswerable(id, now);
      return put;
    }
    id.uid = uid;
    const cm::CommunicationId communication_id = *id.cm;
    untie(id);
    messages_.sidr_reply(communication_id, reply, now);
    return success();
  }
  if (messages_.find(*id.cm)->state != cm::State::kReqReceived) return failure(wrong_state(id));
  cm::Rep rep{.local_qkey = parameters.qkey,
              .local_qp = parameters.qp,
              .starting_psn = id.own_psn,
              .responder_resources = parameters.responder_resources,
              .initiator_depth = parameters.initiator_depth,
              .target_ack_delay = DeviceLimits::kAckDelayCode,
              .end_to_end_flow_control = parameters.flow_control,
              .rnr_retry_count = retry_count(parameters.rnr_retry_count),
              .srq = parameters.srq,
              .ece = parameters.ece};
  if (id.service == Service::kXrc) rep.local_eec = transport::to_integer(parameters.qp);
  if (auto put = put_private(parameters.private_data, 0, rep.private_data); !put) {
    reject_unanswerable(id, now);
    return put;
  }
  id.uid = uid;
  id.responder_resources = parameters.responder_resources;
  id.initiator_depth = parameters.initiator_depth;
  messages_.accept(*id.cm, rep, now);
  return success();
}

/// As Linux' rdma_cm: an accept that fails rejects, so that the peer need not wait (cma.c, rdma_accept()).
void RdmaCm::reject_unanswerable(Id& id, Time now) {
  const cm::CommunicationId communication_id = *id.cm;
  untie(id);
  messages_.release(communication_id, now);
}

Result<void, Error> RdmaCm::establish(EventChannel& channel, IdNumber number) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (id.is_passive || !id.cm || id.state != IdState::kConnect) return failure(wrong_state(id));
  if (messages_.find(*id.cm)->state != cm::State::kRepReceived) return failure(wrong_state(id));
  messages_.ready(*id.cm);
  return success();
}

Result<void, Error> RdmaCm::reject(EventChannel& channel, IdNumber number, std::uint8_t reason,
                                   std::span<const std::byte> private_data, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (!id.cm || id.state != IdState::kConnect) return failure(wrong_state(id));
  PrivateBytes bytes;
  if (private_data.size() > bytes.bytes.size()) return failure(invalid("there is too much private data"));
  std::copy(private_data.begin(), private_data.end(), bytes.bytes.begin());
  bytes.size = static_cast<std::uint8_t>(private_data.size());
  const cm::CommunicationId communication_id = *id.cm;
  if (id.service == Service::kUd) {
    if (!id.is_passive) return failure(wrong_state(id));
    cm::SidrRep reply{.status = cm::SidrStatus::kReject,
                      .service_id = service_id_of(id.space, id.local.port)};
    if (auto put = put_private(bytes, 0, reply.private_data); !put) return put;
    untie(id);
    messages_.sidr_reply(communication_id, reply, now);
    return success();
  }
  const cm::State state = messages_.find(communication_id)->state;
  const bool is_undecided =
      state == cm::State::kReqReceived || state == cm::State::kRepReceived || state == cm::State::kRepSent;
  if (!is_undecided) return failure(wrong_state(id));
  cm::Rej rej{.reason = reason != 0 ? cm::RejectReason{reason} : cm::RejectReason::kConsumerDefined};
  if (auto put = put_private(bytes, 0, rej.private_data); !put) return put;
  untie(id);
  messages_.reject(communication_id, rej, now);
  return success();
}

Result<void, Error> RdmaCm::disconnect(EventChannel& channel, IdNumber number, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  const bool is_connection = id.cm && id.service != Service::kUd &&
                             (id.state == IdState::kConnect || id.state == IdState::kDisconnect);
  if (!is_connection) return failure(wrong_state(id));
  // Programs disconnect what the peer has disconnected before; that is no error.
  messages_.disconnect(*id.cm, now);
  return success();
}

Result<void, Error> RdmaCm::notify(EventChannel& channel, IdNumber number, QpNotice notice) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (!id.cm || notice != QpNotice::kCommunicationEstablished) return failure(wrong_state(id));
  if (messages_.find(*id.cm)->state == cm::State::kEstablished) {
    return failure(Error{.code = EISCONN, .message = "the connection is established"});
  }
  if (!messages_.establish(*id.cm)) return failure(wrong_state(id));
  return success();
}

/// Before there is a connection a program may make INIT of its queue pair, and nothing after it has ended.
bool RdmaCm::may_prepare(const Id& id, QpState state) const {
  const bool has_begun = id.state == IdState::kConnect || id.state == IdState::kDisconnect;
  if (!has_begun) return state == QpState::kInit;
  return id.cm && is_in_time(messages_.find(*id.cm)->state, state);
}

Result<QpSettings, Error> RdmaCm::init_qp_attributes(EventChannel& channel, IdNumber number,
                                                     QpState state) const {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  const Id& id = *found.value();
  if (!id.is_on_device) return failure(wrong_state(id));
  const bool is_datagram = id.service == Service::kUd;
  if (!is_datagram && !may_prepare(id, state)) return failure(wrong_state(id));
  QpSettings settings{.service = id.service,
                      .state = state,
                      .is_xrc_target = id.is_passive,
                      .is_connection_known = id.cm.has_value()};
  if (is_datagram) {
    settings.qkey = kDatagramQkey;
    return settings;
  }
  settings.allows_reads = id.responder_resources != 0;
  settings.address = address_to_peer(id);
  settings.path_mtu = id.path ? id.path->mtu : usual_path_mtu(config_);
  settings.peer = id.peer_qp;
  settings.receive_psn = id.own_psn;
  settings.send_psn = id.peer_psn;
  settings.responder_resources = id.responder_resources;
  settings.initiator_depth = id.initiator_depth;
  settings.ack_timeout = id.ack_timeout.value_or(id.agreed_ack_timeout);
  settings.retry_count = id.retry_count;
  settings.rnr_retry_count = id.rnr_retry_count;
  return settings;
}

}  // namespace urnic::nic::rdma_cm
