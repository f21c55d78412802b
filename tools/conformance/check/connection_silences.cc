// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where connections were silent.
#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/connections.h"

namespace urnic::check {
namespace {

/// The first request after `acknowledged` of which no part was answered, if the capture has it.
const RequestEntry* oldest_unanswered(RequestLog& log, Psn acknowledged) {
  const RequestEntry* entry = log.find(acknowledged + 1);
  if (entry != nullptr && entry->first != acknowledged + 1) entry = log.find(entry->last() + 1);
  return entry == nullptr || entry->is_missing ? nullptr : entry;
}

/// The request that waits.
Landmark landmark_of(const RequestEntry& entry) {
  return {
      .frame = entry.first_frame, .time_ns = entry.first_time_ns, .opcode = entry.opcode, .psn = entry.first};
}

}  // namespace

// Management datagrams of one address go to one queue pair, whatever connection they are about. `own` is the
// packet before `seen` in the same flow; the first answer has just shown which the other flow is.
void Connections::note_pause(std::uint32_t index, const Landmark& own, bool was_idle, const Seen& seen,
                             bool is_again) {
  const Flow& flow = flows_[index];
  if (!flow.is_shown || flow.key.destination_qp == kGsiQp) return;
  const Landmark* before = &own;
  if (flow.peer && *flow.peer != index && flows_[*flow.peer].latest.frame > before->frame) {
    before = &flows_[*flow.peer].latest;
  }
  const std::int64_t ns = seen.time_ns - before->time_ns;
  if (before->frame == 0 || !silences_.would_keep(ns)) return;
  silences_.add({.kind = SilenceKind::kPause,
                 .flow = index,
                 .begin = *before,
                 .end = landmark_of(seen),
                 .ns = ns,
                 .is_again = is_again,
                 .is_idle = was_idle});
}

bool Connections::is_idle(const Flow& flow) const {
  if (!flow.peer) return false;  // nothing is known of answers
  bool has_requests = false;
  for (const Flow* const one : {&flow, &flows_[*flow.peer]}) {
    if (!one->direction || !one->direction->exchange.is_reliable) continue;
    const Exchange& exchange = one->direction->exchange;
    if (exchange.log.is_empty()) continue;
    has_requests = true;
    if (!exchange.acknowledged || distance(*exchange.acknowledged, exchange.log.next()) > 1) return false;
  }
  return has_requests;
}

// Many requests may have one answer: the oldest of them waited longest.
void Connections::note_answer(std::uint32_t index, Psn acknowledged_before, const Seen& seen) {
  const Flow& flow = flows_[index];
  Exchange& exchange = flow.direction->exchange;
  if (!flow.is_shown || !exchange.is_reliable || !exchange.acknowledged) return;
  const RequestEntry* const entry = oldest_unanswered(exchange.log, acknowledged_before);
  if (entry == nullptr) return;
  const bool is_refused =
      exchange.fatal && exchange.fatal->frame == seen.number && entry->covers(seen.packet.psn);
  const std::int64_t ns = seen.time_ns - entry->first_time_ns;
  if ((distance(entry->first, *exchange.acknowledged) < 0 && !is_refused) || !silences_.would_keep(ns)) {
    return;
  }
  silences_.add({.kind = SilenceKind::kAnswer,
                 .flow = index,
                 .begin = landmark_of(*entry),
                 .end = landmark_of(seen),
                 .ns = ns,
                 .transmissions = entry->transmissions});
}

void Connections::note_open_waits(std::int64_t end_ns) {
  for (std::uint32_t index = 0; index < flows_.size(); ++index) {
    const Flow& flow = flows_[index];
    if (!flow.direction || !flow.is_shown) continue;
    Exchange& exchange = flow.direction->exchange;
    if (!exchange.is_reliable || !exchange.acknowledged || exchange.fatal || exchange.log.is_empty()) {
      continue;
    }
    const RequestEntry* const entry = oldest_unanswered(exchange.log, *exchange.acknowledged);
    if (entry == nullptr) continue;
    silences_.add({.kind = SilenceKind::kAnswer,
                   .flow = index,
                   .begin = landmark_of(*entry),
                   .ns = end_ns - entry->first_time_ns,
                   .transmissions = entry->transmissions});
  }
}

}  // namespace urnic::check
