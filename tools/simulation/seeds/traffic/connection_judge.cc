// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How an attempt to connect may end.
#include <fmt/core.h>

#include <algorithm>

#include "tools/simulation/seeds/traffic/connection_traffic.h"

namespace urnic::sim {

using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::DatagramParameters;
using nic::rdma_cm::PrivateBytes;
using nic::rdma_cm::QpSettings;
using nic::rdma_cm::RdmaCm;

namespace {

constexpr std::uint16_t kRejectTimeout = 4;
constexpr std::uint16_t kRejectUnknownId = 6;
constexpr std::uint16_t kRejectServiceId = 8;
constexpr std::uint16_t kRejectStale = 10;
constexpr std::uint16_t kRejectConsumer = 28;
/// Of SIDR_REP.
constexpr int kServiceUnsupported = 1;
constexpr int kServiceRejected = 2;

/// 4.096 us x 2^17: there and back within the packet lifetime that new kernels reckon with (CM.md 2).
constexpr std::uint8_t kUsualAckTimeout = 17;
/// What an MRA asks for (CM.md 3): 69 s.
constexpr Duration kServiceTime = cm_time(24);
/// A request waits so long for a program that listens.
constexpr Duration kPatience = std::chrono::milliseconds(200);
/// A rejection is repeated for a peer that did not get it; afterwards its request is a new one.
constexpr Duration kRejectionKept = 3 * kCmResponseTime;

bool has_taken(const Scene& scene, HostId host, std::uint32_t id, CmKind kind) {
  return scene.observer.management().dialog(host, id).taken[ManagementObserver::index_of(kind)] > 0;
}

}  // namespace

const ConnectionTraffic::End* ConnectionTraffic::peer_of(const End& end) const {
  const Attempt& attempt = end.attempt;
  if (!end.is_active()) return attempt.active.get();
  return attempt.passive.empty() ? nullptr : attempt.passive.back().get();
}

/// Whether the other side has ended the connection, or never knew it.
bool ConnectionTraffic::has_peer_gone(const End& end) const {
  const End* const peer = peer_of(end);
  if (peer == nullptr) return true;
  const bool waits_for_answer = peer->stage == Stage::kAsking || peer->stage == Stage::kAccepted;
  // Its manager has given up, and its program does not know yet.
  const bool gives_up = waits_for_answer && scene_.now() - peer->since >= (kCmRetries + 1) * kCmResponseTime;
  const bool ends = peer->has_left || peer->stage >= Stage::kDisconnecting || gives_up;
  // A queue pair that connects again ends the connection that it had.
  return ends || std::ranges::any_of(attempts_, [&](const Attempt& attempt) {
           return attempt.is_second && attempt.active && attempt.active->qp_number == peer->qp_number &&
                  attempt.active->host == peer->host && &attempt != &end.attempt;
         });
}

/// Whether the network may have lost every message between the two sides until now, or lately: it was cut, or
/// loses many in a row.
bool ConnectionTraffic::is_cut(const Attempt& attempt) const {
  const HostId one = attempt.plan.hosts[0];
  const HostId other = attempt.plan.hosts[1];
  const bool has_cut = std::ranges::any_of(scene_.options.connections.cuts, [&](const Partition& cut) {
    const bool is_between = (cut.from == one && cut.to == other) || (cut.from == other && cut.to == one);
    return is_between && scene_.now() > cut.begin && attempt.active->asked < cut.end;
  });
  if (has_cut) return true;
  const auto loses_many = [&](HostId host) {
    const FaultRates& faults = scene_.options.links[index(host)].faults;
    return faults.burst > 0 || faults.blackout > 0;
  };
  // What was sent in the moment when the faults stopped may have been lost.
  const bool has_faults = scene_.faults_stopped == transport::kNever ||
                          scene_.now() - scene_.faults_stopped <= kCmResponseTime + 2 * kCmPacketLifetime;
  return has_faults && (loses_many(one) || loses_many(other));
}

Duration ConnectionTraffic::timewait_of(const Attempt& attempt) {
  return cm_time(attempt.plan.ack_timeout.value_or(kUsualAckTimeout));
}

/// What the managers promise: so many repeats, and more time whenever the peer asks for it.
Duration ConnectionTraffic::longest_wait(const End& end) const {
  if (end.stage == Stage::kTimewait) return timewait_of(end.attempt);
  const Duration interval = kCmResponseTime + (end.is_active() ? 2 * kCmPacketLifetime : Duration(0));
  const auto& dialog = scene_.observer.management().dialog(end.host, end.local_id);
  const std::uint32_t mras = dialog.taken[ManagementObserver::index_of(CmKind::kMessageReceipt)];
  return (kCmRetries + 1) * interval + mras * (kServiceTime + timewait_of(end.attempt));
}

// ---------------------------------------------------------------------------------------------------------
// Requests and replies

/// What was sent, and zeros up to the length that the message has (CM.md 2).
void ConnectionTraffic::judge_private_data(const End& end, const PrivateBytes& got, const PrivateBytes& sent,
                                           std::size_t size) {
  PrivateBytes expected = sent;
  expected.size = static_cast<std::uint8_t>(size);
  if (got != expected) complain(end, "private data are not what was sent");
}

void ConnectionTraffic::judge_request(const Attempt& attempt, const CmEvent& event, HostId host) {
  const ConnectionPlan& plan = attempt.plan;
  if (!attempt.active || attempt.active->asked == Time{} || host != plan.hosts[1]) {
    return scene_.referee.complain("connections", fmt::format("request {} was not made", plan.number));
  }
  const End& active = *attempt.active;
  const PrivateBytes sent = private_data(attempt, Side::kLeft);
  if (!attempt.passive.empty()) {
    // A late duplicate is a new request when the first has been withdrawn, or its end is no longer
    // remembered. The timewait of a program that asked for a short one ends before the network is through
    // with its messages.
    const End& last = *attempt.passive.back();
    const Duration remembered = last.has_left ? timewait_of(attempt) : kRejectionKept;
    const bool is_forgotten = last.is_over() && (last.has_given_up || last.is_past_timewait ||
                                                 scene_.now() - last.since >= remembered);
    if (!active.is_over() && !is_forgotten) complain(active, "its request is told twice");
    count(CoverageEvent::kRequestToldAgain);
  }
  if (const auto* const datagram = std::get_if<DatagramParameters>(&event.parameters)) {
    if (!plan.is_datagram) complain(active, "its request is one for datagrams");
    return judge_private_data(active, datagram->private_data, sent, kSidrReqUserBytes);
  }
  const auto& got = std::get<ConnectionParameters>(event.parameters);
  judge_private_data(active, got.private_data, sent, kReqUserBytes);
  // Seen from the other side.
  const bool is_right = got.qp == transport::QpNumber{active.qp_number} &&
                        got.responder_resources == plan.initiator_depth &&
                        got.initiator_depth == plan.responder_resources &&
                        got.retry_count == plan.retry_count && got.rnr_retry_count == plan.rnr_retry_count;
  if (!is_right) complain(active, "its request does not say what it asked for");
}

void ConnectionTraffic::judge_response(const End& end, const CmEvent& event) {
  const Attempt& attempt = end.attempt;
  if (!end.is_active() || end.stage != Stage::kAsking) {
    return complain(end, fmt::format("a response while {}", name_of(end.stage)));
  }
  const auto* const connection = std::get_if<ConnectionParameters>(&event.parameters);
  const auto* const datagram = std::get_if<DatagramParameters>(&event.parameters);
  const transport::QpNumber qp = connection != nullptr ? connection->qp
                                 : datagram != nullptr ? datagram->qp
                                                       : transport::QpNumber{};
  const auto found = std::ranges::find_if(attempt.passive, [&](const auto& passive) {
    return passive->was_accepted && passive->qp_number == to_integer(qp);
  });
  if (found == attempt.passive.end()) return complain(end, "a reply that no program gave");
  const PrivateBytes sent = private_data(attempt, Side::kRight);
  if (datagram != nullptr) {
    constexpr std::uint32_t kDatagramQkey = 0x01234567;  // CM.md 2
    if (datagram->qkey != kDatagramQkey) complain(end, fmt::format("Q_Key {:#x}", datagram->qkey));
    return judge_private_data(end, datagram->private_data, sent, kSidrRepUserBytes);
  }
  judge_private_data(end, connection->private_data, sent, kRepUserBytes);
  const bool is_right = connection->responder_resources == attempt.plan.responder_resources &&
                        connection->initiator_depth == attempt.plan.initiator_depth;
  if (!is_right) complain(end, "the reply does not grant what the peer did");
}

/// Both sides, each with what it connects its queue pair with.
void ConnectionTraffic::judge_agreement(const End& active, const End& passive) {
  const QpSettings& ours = active.settings;
  const QpSettings& theirs = passive.settings;
  if (active.local_id != passive.remote_id || active.remote_id != passive.local_id) {
    complain(active, fmt::format("communication IDs {:#x}/{:#x} here, {:#x}/{:#x} there", active.local_id,
                                 active.remote_id, passive.local_id, passive.remote_id));
  }
  if (ours.receive_psn != theirs.send_psn || ours.send_psn != theirs.receive_psn) {
    complain(active, "the two sides begin with different PSNs");
  }
  const bool is_same_pair = ours.peer == transport::QpNumber{passive.qp_number} &&
                            theirs.peer == transport::QpNumber{active.qp_number} &&
                            ours.path_mtu == theirs.path_mtu &&
                            ours.responder_resources == theirs.initiator_depth &&
                            ours.initiator_depth == theirs.responder_resources;
  if (!is_same_pair) complain(active, "the two sides connect their queue pairs differently");
}

// ---------------------------------------------------------------------------------------------------------
// Failures

/// No program listened when the request may have come.
bool ConnectionTraffic::may_be_refused(const End& end) const {
  const ConnectionPlan& plan = end.attempt.plan;
  for (std::size_t i = 0; i < plans_.listeners.size(); ++i) {
    const ListenerPlan& listener = plans_.listeners[i];
    if (listener.host == plan.hosts[1] && listener.port == plan.port) {
      return Time(listener.since) > end.asked + kPatience;
    }
  }
  return true;
}

void ConnectionTraffic::judge_rejection(const End& end, const CmEvent& event) {
  const auto reason = static_cast<std::uint16_t>(event.status);
  const auto* const parameters = std::get_if<ConnectionParameters>(&event.parameters);
  if (parameters == nullptr) return complain(end, "a rejection without private data");
  count(CoverageEvent::kConnectionRejected);
  const Attempt& attempt = end.attempt;
  if (!end.is_active()) {
    const auto& given = attempt.active->rejection;
    if (given && given->reason == reason) {
      count(CoverageEvent::kReplyRejected);
      return judge_private_data(end, parameters->private_data, given->private_data, kRejUserBytes);
    }
    const bool is_reason =
        reason == kRejectTimeout || reason == kRejectUnknownId || reason == kRejectConsumer;
    if (!is_reason || !has_peer_gone(end)) {
      complain(end, fmt::format("rejected for reason {} by a peer that is {}", reason,
                                name_of(attempt.active->stage)));
    }
    return;
  }
  const auto given = std::ranges::find_if(attempt.passive,
                                          [](const auto& passive) { return passive->rejection.has_value(); });
  if (given != attempt.passive.end() && (*given)->rejection->reason == reason) {
    count(CoverageEvent::kRejectedByProgram);
    return judge_private_data(end, parameters->private_data, (*given)->rejection->private_data,
                              kRejUserBytes);
  }
  const bool has_left =
      std::ranges::any_of(attempt.passive, [](const auto& passive) { return passive->has_left; });
  if (reason == kRejectConsumer && has_left) return;
  // The passive side gave up on its reply.
  if (reason == kRejectTimeout && is_cut(attempt)) return;
  if (reason == kRejectServiceId && may_be_refused(end)) return count(CoverageEvent::kRejectedNoListener);
  if (reason == kRejectStale && attempt.is_second) return count(CoverageEvent::kRejectedStale);
  complain(end, fmt::format("rejected for reason {}", reason));
}

/// UNREACHABLE: the peer did not answer, or the service was refused.
void ConnectionTraffic::judge_silence(const End& end, const CmEvent& event) {
  const Attempt& attempt = end.attempt;
  const ConnectionPlan& plan = attempt.plan;
  if (plan.is_datagram && event.status > 0) {
    const auto* const got = std::get_if<DatagramParameters>(&event.parameters);
    if (got == nullptr) return complain(end, "a refusal without private data");
    count(CoverageEvent::kServiceRefused);
    const bool is_rejected = std::ranges::any_of(
        attempt.passive, [](const auto& passive) { return passive->rejection.has_value(); });
    if (event.status == kServiceRejected && is_rejected) {
      return judge_private_data(end, got->private_data, private_data(attempt, Side::kRight),
                                kSidrRepUserBytes);
    }
    const bool has_left =
        std::ranges::any_of(attempt.passive, [](const auto& passive) { return passive->has_left; });
    if (event.status == kServiceRejected && has_left) return;
    if (event.status == kServiceUnsupported && may_be_refused(end)) return;
    return complain(end, fmt::format("the service is refused with status {}", event.status));
  }
  count(CoverageEvent::kConnectionUnreachable);
  const bool repeats_sooner = !end.is_active() || plan.is_datagram;
  const Duration interval = kCmResponseTime + (repeats_sooner ? Duration(0) : 2 * kCmPacketLifetime);
  if (scene_.now() - end.since < (kCmRetries + 1) * interval) {
    complain(end, fmt::format("unreachable after {} ms", (scene_.now() - end.since).count() / 1'000'000));
  }
  const bool is_answered = has_taken(scene_, end.host, end.local_id, CmKind::kReply) ||
                           has_taken(scene_, end.host, end.local_id, CmKind::kReject) ||
                           has_taken(scene_, end.host, end.local_id, CmKind::kServiceReply) ||
                           has_taken(scene_, end.host, end.local_id, CmKind::kReadyToUse);
  if (is_answered) return complain(end, "unreachable though an answer has come");
  const bool is_ignored = plan.answer == ConnectionPlan::Answer::kIgnore;
  if (!is_ignored && !is_cut(attempt)) complain(end, "unreachable though the network lets messages through");
}

}  // namespace urnic::sim
