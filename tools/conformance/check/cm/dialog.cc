// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/cm/dialog.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

CmSide other(CmSide side) {
  return side == CmSide::kActive ? CmSide::kPassive : CmSide::kActive;
}

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

/// SIDR has two messages, which are kept as if they were REQ and REP.
CmKind slot_of(CmKind kind) {
  if (kind == CmKind::kServiceRequest) return CmKind::kRequest;
  return kind == CmKind::kServiceReply ? CmKind::kReply : kind;
}

/// Whether a sender repeats what it has said, byte for byte, until it is answered.
bool is_repeated_as_it_was(CmKind kind) {
  return kind == CmKind::kRequest || kind == CmKind::kReply || kind == CmKind::kDisconnectRequest ||
         kind == CmKind::kServiceRequest;
}

}  // namespace

CmDialog::CmDialog(const CmMessage& request, const Seen& seen, std::uint32_t flow)
    : request_(request), active_(seen.frame.source), passive_(seen.frame.destination), flow_(flow) {
  note(request, CmSide::kActive, seen);
}

const CmDialog::Said& CmDialog::said(CmSide side, CmKind kind) const {
  const auto index = static_cast<std::size_t>(slot_of(kind)) - static_cast<std::size_t>(CmKind::kRequest);
  return said_[static_cast<std::size_t>(side)][index];
}

CmDialog::Said& CmDialog::said(CmSide side, CmKind kind) {
  return const_cast<Said&>(std::as_const(*this).said(side, kind));
}

bool CmDialog::has_said_anything(CmSide side) const {
  const auto& all = said_[static_cast<std::size_t>(side)];
  return std::any_of(all.begin(), all.end(), [](const Said& one) { return one.count > 0; });
}

// REQ says both: how long the other manager takes to answer its sender, and how long its sender takes.
std::int64_t CmDialog::response_time_ns(CmSide sender) const {
  if (request_.kind != CmKind::kRequest) return 0;
  return cm_time_ns(sender == CmSide::kActive ? request_.receiver_timeout : request_.sender_timeout);
}

std::optional<std::int64_t> CmDialog::waits_until(CmSide sender, CmKind kind) const {
  const Said& one = said(sender, kind);
  if (one.count == 0) return std::nullopt;
  const Said& receipt = said(other(sender), CmKind::kMessageReceipt);
  std::int64_t until = one.last_ns + response_time_ns(sender);
  if (receipt.count > 0) until = std::max(until, receipt.last_ns + cm_time_ns(receipt.service_timeout));
  return until;
}

bool CmDialog::is_over(std::int64_t now_ns) const {
  for (const CmSide side : {CmSide::kActive, CmSide::kPassive}) {
    if (has_said(side, CmKind::kReject) || has_said(side, CmKind::kDisconnectReply)) return true;
  }
  if (request_.kind != CmKind::kRequest) return has_said(CmSide::kPassive, CmKind::kServiceReply);
  const std::int64_t patience = response_time_ns(CmSide::kActive) * (request_.max_retries + 1);
  return now_ns - said(CmSide::kActive, CmKind::kRequest).last_ns > patience;
}

// A side that is asked again answers again. That is no repetition of its own and leaves its timer alone. The
// first REP starts the timer. But after a repeated REQ, the REP that we see may not be the first: the first
// may have been lost.
bool CmDialog::may_be_answer(CmSide side, CmKind kind) const {
  const Said& request = said(other(side), CmKind::kRequest);
  const bool is_first_of_one = said(side, kind).count == 0 && request.unanswered == 1;
  return kind == CmKind::kReply && request.unanswered > 0 && !is_first_of_one;
}

void CmDialog::note(const CmMessage& message, CmSide side, const Seen& seen) {
  Said& one = said(side, message.kind);
  if (!may_be_answer(side, message.kind)) {
    one.unasked += one.count > 0 ? 1 : 0;
    one.timer = {.frame = seen.number, .ns = seen.time_ns};
  }
  if (message.kind == CmKind::kReply) {
    Said& request = said(other(side), CmKind::kRequest);
    request.unanswered -= request.unanswered > 0 ? 1 : 0;
  }
  if (one.count == 0) {
    one.first_frame = seen.number;
    one.digest = message.digest;
    one.transaction = message.transaction;
  }
  ++one.count;
  ++one.unanswered;
  one.last_frame = seen.number;
  one.last_ns = seen.time_ns;
  one.last_psn = seen.packet.psn;
  one.flow = flow_;
  one.service_timeout = message.service_timeout;
}

// A side that repeats a message sends another datagram, with the next PSN (fact 44).
bool CmDialog::is_network_copy(const CmMessage& message, CmSide side, const Seen& seen) const {
  const Said& before = said(side, message.kind);
  return before.count > 0 && before.digest == message.digest && before.last_psn == seen.packet.psn;
}

CmStep CmDialog::on_message(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings) {
  if (is_network_copy(message, side, seen)) {
    ++said(side, message.kind).unanswered;
    findings.add(Rule::kNetworkCopy, flow_, {seen.number}, "",
                 fmt::format("{} once more, with the same PSN", to_string(message.kind)));
    return {};
  }
  judge_ids(message, side, seen, findings);
  judge_transaction(message, side, seen, findings);
  if (has_said(side, message.kind)) judge_repetition(message, side, seen, findings);
  CmStep step;
  switch (message.kind) {
    case CmKind::kReply:
      if (side == CmSide::kPassive) {
        on_reply(message, seen, findings);
        if (!reply_) {
          reply_ = message;
          step.agreed = agreement();
        }
      }
      break;
    case CmKind::kReject:
      on_reject(message, side, seen, findings);
      break;
    case CmKind::kReadyToUse:
      if (side != CmSide::kActive) break;
      if (reply_) {
        step.may_send = agreement().from_passive.key;
      } else {
        is_ready_early_ = true;
      }
      break;
    case CmKind::kDisconnectRequest:
    case CmKind::kDisconnectReply:
      on_disconnect(message, side, seen, findings);
      if (reply_) {
        const AgreedConnection connection = agreement();
        step.ends = side == CmSide::kActive ? connection.from_active.key : connection.from_passive.key;
      }
      break;
    default:
      break;
  }
  if (side == CmSide::kPassive && !passive_id_ && message.local_id != 0) passive_id_ = message.local_id;
  note(message, side, seen);
  return step;
}

void CmDialog::judge_repetition(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings) {
  const Said& before = said(side, message.kind);
  const std::int64_t waited = seen.time_ns - before.last_ns;
  findings.add(Rule::kCmRepetition, flow_, {before.last_frame, seen.number}, "",
               fmt::format("{} again after {}", to_string(message.kind), seconds(waited)));
  if (!is_repeated_as_it_was(message.kind)) return;
  if (message.digest != before.digest) {
    is_of_two_ = is_of_two_ || message.kind == CmKind::kRequest;
    findings.add(Rule::kCmDuplicateDiffers, flow_, {before.first_frame, seen.number},
                 fmt::format("the same {}", to_string(message.kind)), "other contents");
  }
  if (request_.kind != CmKind::kRequest) return;
  if (may_be_answer(side, message.kind)) return;
  // Linux reckons in milliseconds that are a 20th too short, and its timers and the network have jitter.
  constexpr std::int64_t kJitterNs = 20'000'000;
  const std::int64_t promised = response_time_ns(side);
  const std::int64_t ran = before.timer ? seen.time_ns - before.timer->ns : promised;
  if (ran + promised / 16 + kJitterNs < promised) {
    findings.add(Rule::kCmRepeatEarly, flow_, {before.timer->frame, seen.number},
                 fmt::format("{} for the answer", seconds(promised)), seconds(ran));
  }
  if (before.unasked + 1 > request_.max_retries) {
    findings.add(Rule::kCmRepeatOften, flow_, {before.first_frame, seen.number},
                 fmt::format("{} repetitions at most", request_.max_retries),
                 fmt::format("{} repetitions of {}", before.unasked + 1, to_string(message.kind)));
  }
}

void CmDialog::judge_ids(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings) {
  if (request_.kind != CmKind::kRequest || message.kind == CmKind::kRequest || is_of_two_) return;
  const auto complain = [&](const char* whose, std::uint32_t expected, std::uint32_t id) {
    findings.add(Rule::kCmRemoteId, flow_, {seen.number}, fmt::format("{} {:#x}", whose, expected),
                 fmt::format("{:#x} in {}", id, to_string(message.kind)));
  };
  const bool is_active = side == CmSide::kActive;
  const std::uint32_t active_id = is_active ? message.local_id : message.remote_id;
  const std::uint32_t passive_id = is_active ? message.remote_id : message.local_id;
  if (active_id != request_.local_id) return complain("the active side's", request_.local_id, active_id);
  // A REP with another ID is a REP with other contents.
  if (!passive_id_ || passive_id == *passive_id_ || message.kind == CmKind::kReply) return;
  // The side that rejects may have forgotten the passive side's ID, or never got it.
  if (message.kind == CmKind::kReject && passive_id == 0) return;
  complain("the passive side's", *passive_id_, passive_id);
}

void CmDialog::judge_transaction(const CmMessage& message, CmSide side, const Seen& seen,
                                 Findings& findings) {
  if (is_of_two_) return;
  std::uint64_t expected = request_.transaction;
  const char* asked = to_string(request_.kind);
  switch (message.kind) {
    case CmKind::kReply:
    case CmKind::kServiceReply:
    case CmKind::kReadyToUse:
      break;
    case CmKind::kReject:
    case CmKind::kMessageReceipt:
      // After the RTU they answer something else.
      if (has_said(CmSide::kActive, CmKind::kReadyToUse)) return;
      break;
    case CmKind::kDisconnectReply:
      if (!has_said(other(side), CmKind::kDisconnectRequest)) return;
      expected = said(other(side), CmKind::kDisconnectRequest).transaction;
      asked = to_string(CmKind::kDisconnectRequest);
      break;
    default:
      return;
  }
  if (message.transaction == expected) return;
  findings.add(Rule::kCmTransaction, flow_, {seen.number}, fmt::format("{:#x} of the {}", expected, asked),
               fmt::format("{:#x} in {}", message.transaction, to_string(message.kind)));
}

void CmDialog::on_reply(const CmMessage& message, const Seen& seen, Findings& findings) {
  if (has_said(CmSide::kPassive, CmKind::kReject)) {
    findings.add(Rule::kCmAnswersTwice, flow_,
                 {said(CmSide::kPassive, CmKind::kReject).first_frame, seen.number}, "nothing after the REJ",
                 to_string(message.kind));
  }
  if (is_ready_early_) {
    is_ready_early_ = false;
    findings.add_if_complete(Rule::kCmReadyWithoutReply, flow_,
                             {said(CmSide::kActive, CmKind::kReadyToUse).first_frame, seen.number},
                             "a REP before the RTU", std::string("the REP after it") + kUnlessLost);
  }
}

void CmDialog::on_reject(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings) {
  const bool has_named_itself =
      has_said(side, CmKind::kReply) || has_said(side, CmKind::kMessageReceipt) || side == CmSide::kActive;
  if (has_named_itself || message.local_id == 0) return;
  findings.add_if_complete(Rule::kCmRejectId, flow_, {seen.number}, "no communication ID of its own",
                           fmt::format("{:#x}{}", message.local_id, kUnlessLost));
}

void CmDialog::on_disconnect(const CmMessage& message, CmSide side, const Seen& seen, Findings& findings) {
  if (message.kind == CmKind::kDisconnectReply) {
    if (has_said(other(side), CmKind::kDisconnectRequest)) return;
    findings.add_if_complete(Rule::kCmDisconnectReply, flow_, {seen.number}, "a DREQ before the DREP",
                             std::string("none") + kUnlessLost, has_said_anything(other(side)));
    return;
  }
  if (request_.transport == CmTransport::kXrc || !reply_) return;
  const std::uint32_t expected = side == CmSide::kActive ? reply_->qp : request_.qp;
  if (message.qp != expected) {
    findings.add(Rule::kCmDisconnectQp, flow_, {seen.number}, "queue pair " + qp_text(expected),
                 qp_text(message.qp));
  }
}

AgreedConnection CmDialog::agreement() const {
  const std::uint32_t passive_qp = request_.transport == CmTransport::kXrc ? reply_->context : reply_->qp;
  // Read in Linux: both sides have the REQ's retry count and ACK timeout; the RNR retries of a requester and
  // its READs in flight are what the other side's message says.
  const AgreedLimits limits{
      .ack_timeout_ns = request_.ack_timeout == 0 ? 0 : cm_time_ns(request_.ack_timeout),
      .retry_count = request_.retry_count};
  AgreedConnection connection{.from_active = {.key = {active_, passive_, passive_qp},
                                              .first_psn = reply_->first_psn,
                                              .path_mtu = request_.path_mtu,
                                              .limits = limits},
                              .from_passive = {.key = {passive_, active_, request_.qp},
                                               .first_psn = request_.first_psn,
                                               .path_mtu = request_.path_mtu,
                                               .limits = limits}};
  connection.from_active.limits.rnr_retry = reply_->rnr_retry;
  connection.from_active.limits.ack_delay_ns = cm_time_ns(reply_->ack_delay);
  connection.from_active.limits.max_reads = reply_->responder_resources;
  connection.from_passive.limits.rnr_retry = request_.rnr_retry;
  connection.from_passive.limits.max_reads = request_.responder_resources;
  return connection;
}

void CmDialog::finish(std::int64_t end_ns, Findings& findings) const {
  if (is_ready_early_) {
    findings.add_if_complete(Rule::kCmReadyWithoutReply, flow_,
                             {said(CmSide::kActive, CmKind::kReadyToUse).first_frame}, "a REP before the RTU",
                             std::string("none") + kUnlessLost, has_said_anything(CmSide::kPassive));
  }
  const auto judge = [&](CmSide side, CmKind kind, const char* answer, std::int64_t answered_ns) {
    const Said& asked = said(side, kind);
    const auto until = waits_until(side, kind);
    if (!until || answered_ns >= asked.last_ns || end_ns <= *until) return;
    findings.add(Rule::kCmNoAnswer, flow_, {asked.last_frame},
                 fmt::format("{} to the {}", answer, to_string(kind)),
                 fmt::format("none in {}", seconds(end_ns - asked.last_ns)));
  };
  const auto latest = [&](CmSide side, CmKind kind) {
    return has_said(side, kind) ? said(side, kind).last_ns : INT64_MIN;
  };
  const bool is_accepted = reply_.has_value();
  const bool is_rejected =
      has_said(CmSide::kActive, CmKind::kReject) || has_said(CmSide::kPassive, CmKind::kReject);
  if (request_.kind != CmKind::kRequest) return;
  if (!is_accepted && !is_rejected) judge(CmSide::kActive, CmKind::kRequest, "REP or REJ", INT64_MIN);
  if (!is_rejected) {
    judge(CmSide::kPassive, CmKind::kReply, "RTU", latest(CmSide::kActive, CmKind::kReadyToUse));
  }
  for (const CmSide side : {CmSide::kActive, CmSide::kPassive}) {
    judge(side, CmKind::kDisconnectRequest, "DREP", latest(other(side), CmKind::kDisconnectReply));
  }
}

}  // namespace urnic::check
