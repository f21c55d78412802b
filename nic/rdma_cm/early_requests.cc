// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Requests that come before their listener.
//
// A program that is told by its peer, over another connection, to connect often does so before the peer
// listens: perftest's two sides with -R do, and its client crashes when it is rejected. A kernel is slow
// enough for that to go well mostly. So a request waits a moment for its listener; the answer still comes
// long before the peer asks again.
#include <chrono>
#include <variant>

#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::nic::rdma_cm {

using cm::Arrival;
using cm::CommunicationId;
using cm::Decision;
using cm::RejectReason;
using cm::SidrDecision;
using cm::SidrStatus;
using transport::Time;

namespace {

constexpr transport::Duration kPatience = std::chrono::milliseconds(200);
/// More are refused at once: a stranger may send any number.
constexpr std::size_t kMaxEarlyRequests = 256;

bool has_no_listener(const Decision& decision) {
  return decision.kind == Decision::Kind::kReject && decision.reason == RejectReason::kInvalidServiceId;
}

bool has_no_listener(const SidrDecision& decision) {
  return decision.kind == Decision::Kind::kReject && decision.status == SidrStatus::kUnsupported;
}

}  // namespace

Decision RdmaCm::on_request(CommunicationId id, const cm::Req& req, const Arrival& from, Time now) {
  const Decision decision = offer(id, req, from);
  if (has_no_listener(decision) && early_requests_.size() < kMaxEarlyRequests) {
    early_requests_.push_back({.id = id, .request = req, .from = from, .until = now + kPatience});
    return {};
  }
  if (decision.kind == Decision::Kind::kReject) on_refused(req, decision.reason, from);
  return decision;
}

SidrDecision RdmaCm::on_sidr_request(CommunicationId id, const cm::SidrReq& request, const Arrival& from,
                                     Time now) {
  const SidrDecision decision = offer(id, request, from);
  if (has_no_listener(decision) && early_requests_.size() < kMaxEarlyRequests) {
    early_requests_.push_back({.id = id, .request = request, .from = from, .until = now + kPatience});
    return {};
  }
  if (decision.kind == Decision::Kind::kReject) on_refused(request, from);
  return decision;
}

/// There is a new listener.
void RdmaCm::offer_early_requests() {
  std::erase_if(early_requests_, [this](const EarlyRequest& early) {
    return std::visit(
        [&](const auto& request) {
          return offer(early.id, request, early.from).kind == Decision::Kind::kPending;
        },
        early.request);
  });
}

void RdmaCm::settle_early_requests(Time now) {
  while (!early_requests_.empty() && early_requests_.front().until <= now) {
    const EarlyRequest early = early_requests_.front();
    early_requests_.pop_front();
    std::visit([&](const auto& request) { settle(early, request, now); }, early.request);
  }
}

/// As if the request came now. There may be a listener whose backlog was full when it began to listen: then
/// the peer asks again, as it would had the listener been there before.
void RdmaCm::settle(const EarlyRequest& early, const cm::Req& request, Time now) {
  const Decision decision = offer(early.id, request, early.from);
  if (decision.kind == Decision::Kind::kIgnore) messages_.ignore(early.id);
  if (decision.kind != Decision::Kind::kReject) return;
  on_refused(request, decision.reason, early.from);
  messages_.reject(early.id, {.reason = decision.reason}, now);
}

void RdmaCm::settle(const EarlyRequest& early, const cm::SidrReq& request, Time now) {
  const SidrDecision decision = offer(early.id, request, early.from);
  if (decision.kind == Decision::Kind::kIgnore) messages_.ignore(early.id);
  if (decision.kind != Decision::Kind::kReject) return;
  on_refused(request, early.from);
  messages_.sidr_reply(early.id, {.status = decision.status, .service_id = request.service_id}, now);
}

}  // namespace urnic::nic::rdma_cm
