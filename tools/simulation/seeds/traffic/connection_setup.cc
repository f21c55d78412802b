// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two sides until their connection is established, or is not.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "nic/rdma_cm/types.h"
#include "tools/simulation/seeds/core/pattern.h"
#include "tools/simulation/seeds/traffic/connection_traffic.h"

namespace urnic::sim {

using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::DatagramParameters;
using nic::rdma_cm::PrivateBytes;
using nic::rdma_cm::QpSettings;
using nic::rdma_cm::RdmaCm;
using transport::Access;
using transport::QpState;

namespace {

constexpr std::uint32_t kMostResolutions = 4;
/// No message of other traffic is called so.
constexpr std::uint64_t kPrivatePatterns = 0xc0'0000'0000;

/// What the peer may do, as librdmacm has it.
Access access_of(const QpSettings& settings) {
  if (!settings.is_connection_known) return Access::kNone;
  const Access reads = settings.allows_reads ? Access::kRemoteRead | Access::kRemoteAtomic : Access::kNone;
  return Access::kRemoteWrite | reads;
}

/// What the verbs need to know for a change of state, as librdmacm asks for it.
nic::QpAttributes attributes_of(const QpSettings& settings) {
  nic::QpAttributes attributes;
  attributes.state = settings.state;
  switch (settings.state) {
    case QpState::kInit:
      attributes.pkey_index = 0;
      attributes.port = 1;
      attributes.access = access_of(settings);
      break;
    case QpState::kReadyToReceive:
      attributes.address = settings.address;
      attributes.path_mtu = settings.path_mtu;
      attributes.destination_qp = settings.peer;
      attributes.receive_psn = settings.receive_psn;
      attributes.max_responder_resources = settings.responder_resources;
      attributes.min_rnr_timer = settings.min_rnr_timer;
      break;
    case QpState::kReadyToSend:
      attributes.send_psn = settings.send_psn;
      attributes.ack_timeout = settings.ack_timeout;
      attributes.retry_count = settings.retry_count;
      attributes.rnr_retry = settings.rnr_retry_count;
      attributes.max_reads_in_flight = settings.initiator_depth;
      break;
    default:
      break;
  }
  return attributes;
}

std::optional<std::uint32_t> number_in(const PrivateBytes& data) {
  std::uint32_t number = 0;
  if (data.size < sizeof number) return std::nullopt;
  std::memcpy(&number, data.bytes.data(), sizeof number);
  return number;
}

}  // namespace

/// Begins with the number of the attempt.
PrivateBytes ConnectionTraffic::private_data(const Attempt& attempt, Side side) const {
  PrivateBytes data;
  data.size = attempt.plan.private_bytes[index(side)];
  const std::uint32_t number = attempt.plan.number;
  fill(std::span(data.bytes).first(data.size), Pattern{kPrivatePatterns + number * 2 + index(side)});
  std::memcpy(data.bytes.data(), &number, sizeof number);
  return data;
}

void ConnectionTraffic::learn_ids(End& end) {
  client(end.host).call([&](RdmaCm& cm, auto&) {
    const nic::rdma_cm::Id& id = cm.ids().at(end.id);
    const auto* const connection = id.cm ? cm.messages().find(*id.cm) : nullptr;
    if (connection == nullptr) return;
    end.local_id = transport::to_integer(connection->local_id);
    end.remote_id = transport::to_integer(connection->remote_id);
  });
}

void ConnectionTraffic::make_qp(End& end) {
  if (end.qp) return;
  Host& host = scene_.host(end.host);
  end.qp = end.attempt.plan.is_datagram ? host.create_unreliable_qp(nic::QpType::kUd, false, end.qp_events)
                                        : host.create_connection_qp(end.qp_events);
  end.qp_number = to_integer(end.qp->number());
  by_qp_[{end.host, end.qp_number}] = &end;
}

Result<void, Error> ConnectionTraffic::move_qp(End& end, QpState state) {
  if (state == QpState::kReset || state == QpState::kError) {
    nic::QpAttributes attributes;
    attributes.state = state;
    return end.qp->modify(attributes);
  }
  const auto settings = client(end.host).call(
      [&](RdmaCm& cm, auto& channel) { return cm.init_qp_attributes(channel, end.id, state); });
  if (!settings) return failure(settings.error());
  end.settings = settings.value();
  return end.qp->modify(attributes_of(settings.value()));
}

/// What the peer has sent is not wanted.
void ConnectionTraffic::reject(End& end) {
  const ConnectionPlan& plan = end.attempt.plan;
  const PrivateBytes data = private_data(end.attempt, end.side);
  const auto rejected = client(end.host).call([&](RdmaCm& cm, auto& channel) {
    return cm.reject(channel, end.id, plan.reason, std::span(data.bytes).first(data.size), scene_.now());
  });
  if (!rejected && !has_peer_gone(end)) complain(end, "cannot be rejected: " + rejected.error().message);
  constexpr std::uint16_t kConsumerDefined = 28;
  const std::uint16_t reason = plan.reason != 0 ? plan.reason : kConsumerDefined;
  end.rejection = {.reason = reason, .private_data = data};
  this->end(end);
}

/// What is posted before the peer can send finds its receives there. False when the connection has ended
/// before the program came to it.
bool ConnectionTraffic::connect_qp(End& end) {
  for (const QpState state : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    if (const auto moved = move_qp(end, state); !moved) {
      if (!has_peer_gone(end)) complain(end, moved.error().message);
      return false;
    }
    if (state == QpState::kInit) post_receives(end);
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------
// The active side

void ConnectionTraffic::on_address_error(End& end) {
  if (scene_.options.is_peaceful()) complain(end, "the address is not resolved though nothing was lost");
  if (end.resolutions < kMostResolutions) return resolve(end);
  this->end(end);
}

void ConnectionTraffic::connect(End& end) {
  const ConnectionPlan& plan = end.attempt.plan;
  if (!plan.is_datagram) {
    make_qp(end);
    if (const auto moved = move_qp(end, QpState::kInit); !moved) complain(end, moved.error().message);
  }
  const ConnectionParameters parameters{.private_data = private_data(end.attempt, end.side),
                                        .responder_resources = plan.responder_resources,
                                        .initiator_depth = plan.initiator_depth,
                                        .retry_count = plan.retry_count,
                                        .rnr_retry_count = plan.rnr_retry_count,
                                        .qp = transport::QpNumber{end.qp_number}};
  const auto connecting = client(end.host).call(
      [&](RdmaCm& cm, auto& channel) { return cm.connect(channel, end.id, parameters, scene_.now()); });
  if (!connecting) return complain(end, connecting.error().message);
  count(CoverageEvent::kConnectionAttempt);
  learn_ids(end);
  end.asked = scene_.now();
  enter(end, Stage::kAsking);
}

void ConnectionTraffic::on_response(End& end, const CmEvent& event) {
  judge_response(end, event);
  if (scene_.referee.failure()) return;
  learn_ids(end);
  enter(end, Stage::kReplied);
  after(end.attempt.plan.ready_delay, [this, &end] {
    if (end.stage != Stage::kReplied) return;
    end.attempt.plan.refuses_reply ? reject(end) : get_ready(end);
  });
}

/// The active side answers the reply.
void ConnectionTraffic::get_ready(End& end) {
  if (!connect_qp(end)) return;  // the event that says why is on its way to the program
  const auto found = std::ranges::find_if(end.attempt.passive, [&](const auto& passive) {
    return passive->was_accepted && passive->qp_number == to_integer(end.settings.peer);
  });
  if (found == end.attempt.passive.end()) return complain(end, "no program has the peer's queue pair");
  judge_agreement(end, **found);
  observe(end, **found);
  const auto established =
      client(end.host).call([&](RdmaCm& cm, auto& channel) { return cm.establish(channel, end.id); });
  if (established) {
    enter(end, Stage::kEstablished);
    end.was_established = true;
    return begin_data(end);
  }
  // The event that says why is on its way to the program.
  if (!has_peer_gone(end)) complain(end, "cannot be established: " + established.error().message);
}

// ---------------------------------------------------------------------------------------------------------
// The passive side

void ConnectionTraffic::on_request(HostId host, const CmEvent& event) {
  const auto* const connection = std::get_if<ConnectionParameters>(&event.parameters);
  const auto* const datagram = std::get_if<DatagramParameters>(&event.parameters);
  const auto number = connection != nullptr ? number_in(connection->private_data)
                      : datagram != nullptr ? number_in(datagram->private_data)
                                            : std::nullopt;
  if (!number || *number >= attempts_.size()) {
    return scene_.referee.complain("connections", "a request of no program");
  }
  Attempt& attempt = attempts_[*number];
  judge_request(attempt, event, host);
  if (scene_.referee.failure()) return;
  attempt.passive.push_back(std::make_unique<End>(
      End{.attempt = attempt, .side = Side::kRight, .host = host, .uid = next_uid_++, .id = event.id}));
  End& end = *attempt.passive.back();
  by_uid_[end.uid] = &end;
  learn_ids(end);
  enter(end, Stage::kDeciding);
  const ConnectionPlan& plan = attempt.plan;
  if (plan.answer == ConnectionPlan::Answer::kIgnore) {
    // By the time that the request is handed on, the one that asks may have gone.
    if (attempt.active->is_over()) after(kCmResponseTime, [this, &end] { leave(end); });
    return;
  }
  after(plan.answer_delay, [this, &end] {
    if (end.stage == Stage::kDeciding) answer(end);
  });
}

void ConnectionTraffic::answer(End& end) {
  const ConnectionPlan& plan = end.attempt.plan;
  if (plan.answer == ConnectionPlan::Answer::kAccept) return accept(end);
  reject(end);
}

void ConnectionTraffic::accept(End& end) {
  const ConnectionPlan& plan = end.attempt.plan;
  make_qp(end);
  const ConnectionParameters parameters{.private_data = private_data(end.attempt, end.side),
                                        .responder_resources = plan.initiator_depth,
                                        .initiator_depth = plan.responder_resources,
                                        .rnr_retry_count = plan.rnr_retry_count,
                                        .qp = transport::QpNumber{end.qp_number}};
  if (!plan.is_datagram && !connect_qp(end)) return this->end(end);
  end.was_accepted = true;
  const auto accepted = client(end.host).call([&](RdmaCm& cm, auto& channel) {
    return cm.accept(channel, end.id, end.uid, parameters, scene_.now());
  });
  if (!accepted) {
    if (!has_peer_gone(end)) complain(end, "cannot be accepted: " + accepted.error().message);
    return this->end(end);
  }
  // The answer about a datagram service ends the matter.
  if (plan.is_datagram) return this->end(end);
  enter(end, Stage::kAccepted);
}

// ---------------------------------------------------------------------------------------------------------

void ConnectionTraffic::on_established(End& end, const CmEvent& event) {
  if (end.attempt.plan.is_datagram) {
    count(CoverageEvent::kServiceResolved);
    judge_response(end, event);
    return this->end(end);
  }
  if (end.is_active() || end.stage != Stage::kAccepted) {
    return complain(end, fmt::format("established while {}", name_of(end.stage)));
  }
  const End& active = *end.attempt.active;
  if (!active.was_established) return complain(end, "established though the active side is not ready");
  if (active.settings.peer != transport::QpNumber{end.qp_number}) {
    return complain(end, "established with another queue pair's peer");
  }
  count(CoverageEvent::kConnectionEstablished);
  const auto& dialog = scene_.observer.management().dialog(end.host, end.local_id);
  if (dialog.taken[ManagementObserver::index_of(CmKind::kReadyToUse)] == 0) {
    count(CoverageEvent::kEstablishedByData);
  }
  end.was_established = true;
  enter(end, Stage::kEstablished);
  begin_data(end);
}

}  // namespace urnic::sim
