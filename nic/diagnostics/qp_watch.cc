// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/qp_watch.h"

#include <utility>

#include "nic/diagnostics/failure_log.h"
#include "nic/memory/memory_table.h"
#include "nic/path/neighbor_cache.h"
#include "nic/path/own_segment.h"
#include "nic/queues/queue_pair.h"
#include "transport/rc/request_operation.h"
#include "transport/rc/syndrome.h"

namespace urnic::nic {

using transport::Completion;
using transport::CompletionStatus;
using transport::DmaStatus;
using transport::RefusalReason;
using transport::Time;
namespace wire = transport::wire;

namespace {

/// Reasons that fail a receive of ours, too, whose completion is reported then.
bool fails_receive(RefusalReason reason) {
  return reason == RefusalReason::kReceiveTooSmall || reason == RefusalReason::kReceiveMemory ||
         reason == RefusalReason::kInvalidate;
}

bool names_memory(RefusalReason reason) {
  return reason == RefusalReason::kMemory || reason == RefusalReason::kMisaligned ||
         reason == RefusalReason::kInvalidate;
}

}  // namespace

QpWatch::QpWatch(const Facts& facts, FailureLog& log, QueuePair& qp)
    : facts_(facts),
      log_(log),
      qp_(qp),
      sends_(*this, qp.attributes().send_queue, false),
      receives_(*this, qp.attributes().receive_queue, true) {}

void QpWatch::Sink::complete(const Completion& completion) {
  const bool is_failure = completion.status != CompletionStatus::kSuccess &&
                          completion.status != CompletionStatus::kWorkRequestFlushed;
  if (is_failure) watch_.on_failed(completion, is_receive_);
  to_->complete(completion);
}

void QpWatch::on_modified() {
  has_reported_ = false;
  refused_.reset();
  bad_element_.reset();
}

// --- What happens ---

void QpWatch::on_sent(std::span<const std::byte> packet, bool is_reachable, Time now) {
  const wire::Bth bth = wire::Bth::parse(packet);
  const wire::OpcodeInfo& info = wire::info(bth.opcode);
  const std::size_t header_size = wire::header_bytes(bth.opcode);
  const bool has_syndrome = has(info.headers, wire::Headers::kAeth);
  // The AETH is the first of the extended headers of what answers.
  history_.add({.at = now,
                .kind = is_reachable ? QpHistoryEvent::Kind::kSent : QpHistoryEvent::Kind::kNotSent,
                .has_syndrome = has_syndrome,
                .syndrome = has_syndrome ? wire::Aeth::parse(packet.subspan(wire::Bth::kBytes)).syndrome
                                         : std::uint8_t{0},
                .opcode = bth.opcode,
                .psn = bth.psn,
                .payload_bytes = static_cast<std::uint32_t>(packet.size() - header_size - bth.pad_count)});
  if (info.is_request) note_request(bth.psn);
  if (has_syndrome && facts_.config.tells_of_missing_receives) {
    note_own_answer(wire::Aeth::parse(packet.subspan(wire::Bth::kBytes)).syndrome);
  }
  const bool needs_depth = transport::response_kind_of(info.operation).has_value();
  if (!needs_depth || qp_.endpoint().config().max_reads_in_flight > 0) return;
  if (!std::exchange(has_told_of_depth_, true)) log_.add(report(FailureReport::Kind::kNoDepth));
}

void QpWatch::on_received(const wire::Packet& packet, Time now) {
  const bool has_syndrome = has(packet.info->headers, wire::Headers::kAeth);
  history_.add({.at = now,
                .kind = QpHistoryEvent::Kind::kReceived,
                .has_syndrome = has_syndrome,
                .syndrome = packet.aeth.syndrome,
                .opcode = packet.bth.opcode,
                .psn = packet.bth.psn,
                .payload_bytes = static_cast<std::uint32_t>(packet.payload.size())});
  ++history_.received;
  history_.last_received = now;
  if (packet.info->is_request) return;
  ++history_.received_answers;
  note_answer(packet.bth.psn);
  using transport::SyndromeKind;
  const SyndromeKind kind =
      has_syndrome ? transport::kind_of(packet.aeth.syndrome) : SyndromeKind::kAcknowledge;
  if (kind == SyndromeKind::kRnrNak) {
    if (history_.rnr_naks++ == 0) history_.first_rnr_nak = now;
    history_.rnr_timer_code = transport::value_of(packet.aeth.syndrome);
  } else if (kind == SyndromeKind::kNak &&
             transport::nak_of(packet.aeth.syndrome) == transport::Nak::kPsnSequenceError) {
    ++history_.sequence_naks;
  } else if (kind == SyndromeKind::kAcknowledge) {
    history_.rnr_naks = 0;
    history_.sequence_naks = 0;
  }
}

void QpWatch::note_own_answer(std::uint8_t syndrome) {
  if (transport::kind_of(syndrome) != transport::SyndromeKind::kRnrNak) return;
  if (!std::exchange(has_told_of_receives_, true)) log_.add(report(FailureReport::Kind::kReceiveMissing));
}

void QpWatch::on_no_receive() {
  if (!facts_.config.tells_of_missing_receives) return;
  if (!std::exchange(has_told_of_receives_, true)) log_.add(report(FailureReport::Kind::kDropped));
}

void QpWatch::note_request(transport::Psn psn) {
  const transport::Psn first = qp_.endpoint().config().send_psn;
  const bool is_new_connection = history_.first_request != first;
  if (is_new_connection || distance(history_.last_request, psn) > 0) history_.last_request = psn;
  history_.first_request = first;
}

// The answers to a READ have PSNs that its request took without sending them: those before the next one.
void QpWatch::note_answer(transport::Psn psn) {
  const bool is_before = distance(history_.first_request, psn) < 0;
  const bool is_after =
      distance(history_.last_request, psn) > 0 && distance(qp_.endpoint().next_send_psn(), psn) >= 0;
  if (!is_before && !is_after) return;
  ++history_.foreign_answers;
  history_.foreign_psn = psn;
}

void QpWatch::on_ack_timeout(std::uint8_t retries_used, Time now) {
  history_.add({.at = now, .kind = QpHistoryEvent::Kind::kAckTimeout, .retries_used = retries_used});
}

// --- What fails ---

void QpWatch::on_local_fault(const transport::LocalFault& fault) {
  const transport::Access needed = fault.is_write ? transport::Access::kLocalWrite : transport::Access::kNone;
  for (std::size_t i = 0; i < fault.elements.size(); ++i) {
    const transport::Sge& sge = fault.elements[i];
    if (sge.length == 0) continue;
    const DmaStatus status = facts_.memory.check_local(fault.pd, sge.lkey, sge.address, sge.length, needed);
    if (status == DmaStatus::kOk) continue;
    bad_element_ = {.index = i, .sge = sge, .status = status, .is_write = fault.is_write};
    return;
  }
  // All of them fit their regions: the memory of one was not there (on-demand paging).
  bad_element_.reset();
}

void QpWatch::on_refused(const transport::RefusedRequest& request) {
  if (has_reported_) return;
  refused_ = request;
  if (fails_receive(request.reason)) return;
  has_reported_ = true;
  log_.add(report(FailureReport::Kind::kRefusal));
}

void QpWatch::on_failed(const Completion& completion, bool is_receive) {
  if (has_reported_) return;
  has_reported_ = true;
  FailureReport failure = report(FailureReport::Kind::kCompletion);
  failure.is_receive = is_receive;
  failure.completion = completion;
  // It is the oldest, and still there.
  if (const transport::SendWqe* const wqe = is_receive ? nullptr : qp_.oldest_send()) {
    failure.request = wqe->request.as_posted();
    failure.request_length = wqe->length;
  }
  log_.add(failure);
}

FailureReport QpWatch::report(FailureReport::Kind kind) const {
  FailureReport report{.kind = kind, .at = facts_.clock.now(), .qp = qp_.snapshot()};
  report.refused = refused_;
  report.bad_element = bad_element_;
  if (bad_element_) {
    report.key = facts_.memory.facts_of(to_integer(bad_element_->sge.lkey));
  } else if (refused_ && names_memory(refused_->reason)) {
    report.key = facts_.memory.facts_of(refused_->rkey);
  }
  const Neighbor* const neighbor = facts_.neighbors.find(report.qp.peer);
  if (neighbor != nullptr) {
    report.neighbor = neighbor->state;
    report.neighbor_mac = neighbor->mac;
  }
  const DeviceConfig& config = facts_.config;
  report.is_on_our_segment = is_on_own_segment(config, report.qp.peer);
  report.medium = config.medium;
  report.link_mtu = config.link_mtu;
  report.min_rnr_timer = std::as_const(qp_).endpoint().config().min_rnr_timer;
  report.history = history_;
  return report;
}

}  // namespace urnic::nic
