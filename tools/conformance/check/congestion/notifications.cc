// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/congestion/notifications.h"

#include <fmt/core.h>

#include <string>

namespace urnic::check {
namespace {

constexpr std::int64_t kAnsweredNs = 100'000'000;  // longer than a CNP takes to its place of capture
constexpr std::int64_t kTogetherNs = 1'000'000;    // a NAK, and the CNP that comes with it

FlowKey there(const FlowKey& key) {
  return {key.source, key.destination, 0};
}

FlowKey back(const FlowKey& key) {
  return {key.destination, key.source, 0};
}

bool is_sequence_nak(const Packet& packet) {
  return packet.info->is_acknowledge() && kind_of(packet.syndrome) == AnswerKind::kSequenceNak;
}

}  // namespace

void Notifications::on_packet(std::uint32_t flow, std::optional<std::uint32_t> peer, const FlowKey& key,
                              const Seen& seen) {
  const OpcodeInfo& info = *seen.packet.info;
  const bool is_marked = check::is_marked(seen.frame);
  const bool is_cnp = info.service == Service::kCnp;
  const bool is_nak = is_sequence_nak(seen.packet);
  if (!is_cnp && !is_marked && !is_nak) return;
  Record& record = records_[flow];
  record.key = key;
  if (is_cnp) return on_cnp(flow, peer, record, seen);  // a CNP for a CNP is not sent (fact 50)
  if (is_nak) on_sequence_nak(flow, record, seen);
  if (!is_marked) return;
  const bool is_data = !info.is_acknowledge() && info.operation != Operation::kAtomicAcknowledge;
  for (Marks* const marks : {&record.marks, &marks_between_[there(key)]}) {
    ++marks->packets;
    marks->newest_ns = seen.time_ns;
    marks->data_packets += is_data ? 1 : 0;
    if (is_data && marks->first_data_frame == 0) marks->first_data_frame = seen.number;
  }
  if (is_data) spacing_.on_mark(key, seen.time_ns);
}

// Of the packets of a sender that numbers its CNPs; each of them has another ICRC, then.
bool Notifications::is_copy(Record& record, const Seen& seen) {
  const bool has_id = !seen.frame.is_ipv6 && !seen.frame.is_roce_v1;
  const bool is_same = record.newest_ip_id == seen.frame.ip_id && record.newest_icrc == seen.icrc;
  if (record.cnps > 0 && record.newest_ip_id != seen.frame.ip_id) record.ip_ids_vary = true;
  record.newest_ip_id = seen.frame.ip_id;
  record.newest_icrc = seen.icrc;
  return has_id && record.ip_ids_vary && is_same;
}

void Notifications::on_cnp(std::uint32_t flow, std::optional<std::uint32_t> peer, Record& record,
                           const Seen& seen) {
  if (is_copy(record, seen)) return;
  ++record.cnps;
  ++cnps_between_[there(record.key)];
  spacing_.on_cnp(flow, record.key, seen.number, seen.time_ns);
  if (is_explained(record, peer, seen.time_ns)) return;
  if (record.newest_nak_frame != 0 && seen.time_ns - record.newest_nak_ns <= kTogetherNs) {
    ++record.cnps_with_nak;
    findings_.add(Rule::kCnpWithNak, flow, {record.newest_nak_frame, seen.number},
                  "a marked packet before a CNP", "a sequence NAK before it");
    record.newest_nak_frame = 0;
    return;
  }
  give_up(record);
  record.unexplained_ns = seen.time_ns;
  record.unexplained_frame = seen.number;
}

void Notifications::on_sequence_nak(std::uint32_t flow, Record& record, const Seen& seen) {
  record.newest_nak_ns = seen.time_ns;
  record.newest_nak_frame = seen.number;
  if (record.unexplained_frame == 0 || seen.time_ns - record.unexplained_ns > kTogetherNs) return;
  ++record.cnps_with_nak;
  findings_.add(Rule::kCnpWithNak, flow, {record.unexplained_frame, seen.number},
                "a marked packet before a CNP", "a sequence NAK after it");
  record.unexplained_frame = 0;
  record.newest_nak_frame = 0;
}

// One marked packet is answered by one CNP at most, and not much later. As long as it is not known which flow
// a CNP is for, a mark between its addresses will do.
bool Notifications::is_explained(const Record& record, std::optional<std::uint32_t> peer,
                                 std::int64_t time_ns) const {
  if (peer) {
    const Record* const marked = record_of(peer);
    const std::uint64_t others =
        record.cnps_with_nak + record.unmarked_cnps + (record.unexplained_frame != 0 ? 1 : 0);
    return marked != nullptr && record.cnps - others <= marked->marks.packets &&
           time_ns - marked->marks.newest_ns <= kAnsweredNs;
  }
  const auto marks = marks_between_.find(back(record.key));
  return marks != marks_between_.end() && time_ns - marks->second.newest_ns <= kAnsweredNs;
}

/// No NAK has come with the CNP that was left unexplained.
void Notifications::give_up(Record& record) {
  if (record.unexplained_frame == 0) return;
  if (record.unmarked_cnps++ == 0) record.first_unmarked_frame = record.unexplained_frame;
  record.unexplained_frame = 0;
}

void Notifications::finish(std::uint32_t flows,
                           const std::function<std::optional<std::uint32_t>(std::uint32_t)>& peer_of) {
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    const auto found = records_.find(flow);
    if (found == records_.end()) continue;
    give_up(found->second);
    judge_marks(flow, peer_of(flow), found->second);
    judge_cnps(flow, found->second);
  }
}

void Notifications::judge_marks(std::uint32_t flow, std::optional<std::uint32_t> peer, const Record& record) {
  const std::uint64_t marked = record.marks.data_packets;
  if (marked == 0) return;
  const Record* const answers = record_of(peer);
  const auto between = cnps_between_.find(back(record.key));
  const std::uint64_t cnps = peer ? (answers == nullptr ? 0 : answers->cnps)
                                  : (between == cnps_between_.end() ? 0 : between->second);
  if (cnps > 0) return;
  const std::uint64_t others = spacing_.cnps_of(record.key.destination);
  const std::string seen = fmt::format("{} marked packets, no CNP", marked);
  if (others == 0) {
    findings_.add(Rule::kMarksWithoutCnp, flow, {record.marks.first_data_frame}, "", seen);
  } else {
    findings_.add(Rule::kMarksUnanswered, flow, {record.marks.first_data_frame}, "a CNP",
                  fmt::format("{}, but {} for other flows", seen, others));
  }
}

void Notifications::judge_cnps(std::uint32_t flow, const Record& record) {
  if (record.unmarked_cnps == 0) return;
  const std::string seen = fmt::format("none before {} of {} CNPs", record.unmarked_cnps, record.cnps);
  if (marks_between_.contains(back(record.key))) {
    findings_.add_if_complete(Rule::kCnpUnmarked, flow, {record.first_unmarked_frame},
                              "a marked packet before each CNP", seen + kUnlessLost);
  } else {
    findings_.add(Rule::kCnpMarksUnseen, flow, {record.first_unmarked_frame},
                  "a marked packet before each CNP", seen + "; it may be marked after the place of capture");
  }
}

std::uint64_t Notifications::marked_in(std::uint32_t flow) const {
  const Record* const record = record_of(flow);
  return record == nullptr ? 0 : record->marks.packets;
}

const Notifications::Record* Notifications::record_of(std::optional<std::uint32_t> flow) const {
  const auto found = flow ? records_.find(*flow) : records_.end();
  return found == records_.end() ? nullptr : &found->second;
}

}  // namespace urnic::check
