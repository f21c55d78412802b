// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/connections.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/check/cm/form.h"
#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::size_t kHistory = 2048;      // requests remembered per flow, of few flows
constexpr std::size_t kShortHistory = 128;  // of many
constexpr std::size_t kManyFlows = 512;
constexpr std::size_t kMaxCandidates = 1024;
constexpr std::uint32_t kMaxFailedMatches = 256;

}  // namespace

std::uint32_t Connections::flow_of(const Frame& frame, const Packet& packet, bool may_found) {
  const FlowKey key{frame.source, frame.destination, packet.destination_qp};
  if (last_flow_ != kNoFlow && flows_[last_flow_].key == key) return last_flow_;
  if (const auto known = index_.find(key); known != index_.end()) {
    return last_flow_ = known->second;
  }
  if (!may_found || flows_.size() >= kMaxFlows) return kNoFlow;
  const auto index = static_cast<std::uint32_t>(flows_.size());
  Flow& flow = flows_.emplace_back();
  flow.key = key;
  flow.source_port = frame.source_port;
  flow.is_shown = keeping_.shown == nullptr || keeping_.shown->contains(key);
  if (flow.is_shown) findings_.show(index);
  index_.emplace(key, index);
  auto& neighbors = between_[FlowKey{key.source, key.destination, 0}];
  if (neighbors.size() < kMaxCandidates) neighbors.push_back(index);
  return last_flow_ = index;
}

void Connections::on_packet(std::uint32_t index, const Seen& packet) {
  Flow& flow = flows_[index];
  Seen seen = packet;
  const OpcodeInfo& info = *seen.packet.info;
  // CNPs are made by another part of a NIC, which may number them by itself.
  const bool is_cnp = info.service == Service::kCnp;
  if (!is_cnp) {
    watch_ip_ids(flow, seen);
    seen.order = order_of(flow, seen);
  }
  const Landmark latest = std::exchange(flow.latest, landmark_of(seen));
  const bool was_idle = is_idle(flow);
  flow.first_ns = flow.packets == 0 ? seen.time_ns : flow.first_ns;
  flow.last_ns = std::max(flow.last_ns, seen.time_ns);
  ++flow.packets;
  LadderMark mark = LadderMark::kNone;
  if (!is_cnp && is_network_copy(flow, seen)) {
    ++flow.copies;
    findings_.add(Rule::kNetworkCopy, index, {seen.number}, "",
                  fmt::format("{} with PSN {} once more, with the same IP identification",
                              name_of(seen.packet.opcode), to_string(seen.packet.psn)));
    if (flow.direction && !info.is_response() && info.service == flow.service) {
      flow.direction->requester.on_copy(seen);
    }
    mark = LadderMark::kCopy;
  } else if (is_cnp) {
    ++flow.cnps;
  } else if (flow.service != Service::kCnp && flow.service != info.service) {
    findings_.add(Rule::kOpcodeService, index, {seen.number},
                  fmt::format("opcodes of {}", to_string(flow.service)), name_of(seen.packet.opcode));
  } else {
    if (flow.service == Service::kCnp) {
      flow.p_key = seen.packet.p_key;
      flow.migration = seen.packet.migration;
    }
    flow.service = seen.is_damaged ? flow.service : info.service;
    check_constancy(index, seen);
    if (info.service == Service::kUd) {
      on_datagram(index, seen);
    } else if (info.is_response()) {
      on_response(index, seen);
    } else if (on_request(index, seen)) {
      mark = LadderMark::kAgain;
    }
  }
  note_pause(index, latest, was_idle, seen, mark == LadderMark::kAgain);
  if (keeping_.ladder_rows > 0 && flows_[index].is_shown) {
    const Flow& now = flows_[index];
    const bool interrupted = now.peer && flows_[*now.peer].ladder.last_frame() > now.ladder.last_frame();
    flows_[index].ladder.add(seen, mark, interrupted, keeping_.ladder_rows);
  }
}

// Linux numbers the segments of one buffer from 0 (UDP_SEGMENT): after 3 comes 0 again, with another packet.
// Where the sender counts its packets, 0 comes again only after 65,536 of them, or in a copy of the first.
void Connections::watch_ip_ids(Flow& flow, const Seen& seen) {
  constexpr std::uint16_t kNearWrap = 0x8000;
  const bool falls_to_zero =
      flow.packets > 0 && seen.frame.ip_id == 0 && flow.newest_ip_id_ != 0 && flow.newest_ip_id_ < kNearWrap;
  if (falls_to_zero && !has_imprint(flow, {.icrc = seen.icrc, .ip_id = 0})) flow.ip_ids_restart_ = true;
}

bool Connections::has_imprint(const Flow& flow, const Flow::Imprint& imprint) {
  return std::any_of(flow.imprints_.begin(), flow.imprints_.end(), [&imprint](const Flow::Imprint& other) {
    return other.icrc == imprint.icrc && other.ip_id == imprint.ip_id;
  });
}

Order Connections::order_of(Flow& flow, const Seen& seen) {
  // Further back it is another count, or the same one after many packets to others.
  constexpr std::int16_t kOvertaken = -1024;
  if (seen.frame.is_ipv6 || seen.frame.is_roce_v1 || !flow.ip_ids_vary_ || flow.ip_ids_restart_) {
    flow.newest_ip_id_ = seen.frame.ip_id;
    return Order::kUnknown;
  }
  const auto ahead = static_cast<std::int16_t>(seen.frame.ip_id - flow.newest_ip_id_);
  if (ahead < 0 && ahead > kOvertaken) return Order::kLate;
  flow.newest_ip_id_ = seen.frame.ip_id;
  return Order::kInOrder;
}

bool Connections::is_network_copy(Flow& flow, const Seen& seen) {
  if (seen.frame.is_ipv6 || seen.frame.is_roce_v1 || seen.icrc == 0) return false;
  // Only a sender that numbers its datagrams lets one tell a copy from a repetition.
  const Flow::Imprint imprint{.icrc = seen.icrc, .ip_id = seen.frame.ip_id};
  const bool is_copy = flow.ip_ids_vary_ && !flow.ip_ids_restart_ && has_imprint(flow, imprint);
  const Flow::Imprint& last = flow.imprints_[(flow.next_imprint_ + 7) % flow.imprints_.size()];
  if (flow.packets > 1 && last.ip_id != imprint.ip_id) flow.ip_ids_vary_ = true;
  flow.imprints_[flow.next_imprint_] = imprint;
  flow.next_imprint_ = (flow.next_imprint_ + 1) % flow.imprints_.size();
  return is_copy;
}

void Connections::check_constancy(std::uint32_t index, const Seen& seen) {
  Flow& flow = flows_[index];
  if (seen.is_damaged) return;
  if (seen.packet.p_key != flow.p_key) {
    findings_.add(Rule::kPkeyChanged, index, {seen.number}, fmt::format("{:#06x}", flow.p_key),
                  fmt::format("{:#06x}", seen.packet.p_key));
  }
  if (seen.packet.migration != flow.migration && flow.service != Service::kUd) {
    findings_.add(Rule::kMigrationChanged, index, {seen.number}, fmt::format("MigReq {:d}", flow.migration),
                  fmt::format("{:d}", seen.packet.migration));
  }
}

void Connections::on_datagram(std::uint32_t index, const Seen& seen) {
  Flow& flow = flows_[index];
  if (!seen.is_damaged && is_cm(seen.packet)) on_management(index, seen);
  flow.datagram_bytes += seen.packet.payload_bytes;
  if (flow.source_qp == 0) {
    flow.source_qp = seen.packet.source_qp;
    flow.q_key = seen.packet.q_key;
    const auto other = index_.find(FlowKey{flow.key.destination, flow.key.source, seen.packet.source_qp});
    if (!flow.peer && other != index_.end() && other->second != index && !flows_[other->second].peer &&
        flows_[other->second].source_qp == flow.key.destination_qp) {
      pair(index, other->second);
    }
  } else if (seen.packet.q_key != flow.q_key) {
    findings_.add(Rule::kQkeyChanged, index, {seen.number}, key_text(flow.q_key),
                  key_text(seen.packet.q_key));
  }
}

void Connections::on_management(std::uint32_t index, const Seen& seen) {
  check_cm_form(seen, index, findings_);
  const auto message = parse_cm(seen.packet);
  if (!message || !has_right_header(seen.packet)) return;
  const CmStep step = cm_dialogs_.on_message(*message, seen, index);
  if (step.agreed) {
    agree(step.agreed->from_active, step.agreed->from_passive.key, true);
    agree(step.agreed->from_passive, step.agreed->from_active.key, false);
  }
  const auto agreed = [this](const std::optional<FlowKey>& key) {
    const auto found = key ? agreed_.find(*key) : agreed_.end();
    return found == agreed_.end() ? nullptr : &found->second;
  };
  if (Agreed* const ready = agreed(step.may_send)) ready->may_send = true;
  if (Agreed* const ended = agreed(step.ends); ended != nullptr && ended->ended_frame == 0) {
    ended->ended_frame = seen.number;
    ended->ended_ns = seen.time_ns;
  }
}

void Connections::agree(const AgreedFlow& flow, const FlowKey& peer, bool is_active) {
  if (agreed_.size() >= kMaxFlows && !agreed_.contains(flow.key)) return;
  Agreed& agreed = agreed_[flow.key];
  agreed = {.flow = flow, .peer = peer, .is_active = is_active, .may_send = is_active};
  const auto known = index_.find(flow.key);
  if (known == index_.end() || !flows_[known->second].direction) return;
  flows_[known->second].direction->agreed = &agreed;
  flows_[known->second].direction->exchange.begin_anew(flow);
}

void Connections::judge_by_agreement(std::uint32_t index, const Seen& seen) {
  Agreed& agreed = *flows_[index].direction->agreed;
  if (seen.is_damaged) return;
  if (!agreed.may_send) {
    agreed.may_send = true;  // said once
    findings_.add_if_complete(Rule::kCmDataEarly, index, {seen.number},
                              "RTU, or a request of the active side",
                              fmt::format("{} before{}", name_of(seen.packet.opcode), kUnlessLost));
  }
  if (agreed.is_active && !agreed.has_sent) {
    agreed.has_sent = true;
    if (const auto peer = agreed_.find(agreed.peer); peer != agreed_.end()) peer->second.may_send = true;
  }
  // Packets of queue pairs may wait longer in a host than datagrams do. One that does not go on where the
  // others were is another connection's, whose REQ is not here.
  const RequestLog& log = flows_[index].direction->exchange.log;
  if (agreed.ended_frame != 0 && seen.time_ns - agreed.ended_ns > kInFlightNs && !log.is_empty() &&
      log.next() == seen.packet.psn) {
    findings_.add(Rule::kCmDataAfterEnd, index, {agreed.ended_frame, seen.number}, "no new requests",
                  fmt::format("{} with PSN {}", name_of(seen.packet.opcode), to_string(seen.packet.psn)));
  }
}

void Connections::pair_as_agreed(std::uint32_t index) {
  const auto agreed = agreed_.find(flows_[index].key);
  if (agreed == agreed_.end() || flows_[index].peer) return;
  const auto other = index_.find(agreed->second.peer);
  if (other != index_.end() && !flows_[other->second].peer) pair(index, other->second);
}

bool Connections::on_request(std::uint32_t index, const Seen& seen) {
  Flow& flow = flows_[index];
  if (!flow.direction) {
    flow.direction =
        std::make_unique<Direction>(findings_, index, flows_.size() > kManyFlows ? kShortHistory : kHistory);
    flow.direction->exchange.is_reliable = seen.packet.info->is_connected();
    flow.direction->exchange.counts.first_ns = seen.time_ns;
    pair_as_agreed(index);
    if (flow.peer && flows_[*flow.peer].source_port == flow.source_port) {
      flow.direction->exchange.fitting_answers = Exchange::kManyAnswers;
    }
    if (!flow.peer && !seen.packet.info->is_connected()) match_by_port(index);
    if (const auto agreed = agreed_.find(flow.key); agreed != agreed_.end()) {
      flow.direction->agreed = &agreed->second;
      flow.direction->exchange.begin_anew(agreed->second.flow);
    }
  }
  if (flow.direction->agreed != nullptr) judge_by_agreement(index, seen);
  ExchangeCounts& counts = flow.direction->exchange.counts;
  counts.last_ns = std::max(counts.last_ns, seen.time_ns);
  const std::uint64_t repeated = counts.repeated_packets + counts.late_packets;
  flow.direction->requester.on_request(seen);
  return counts.repeated_packets + counts.late_packets > repeated;
}

void Connections::on_response(std::uint32_t index, const Seen& seen) {
  Flow& flow = flows_[index];
  pair_as_agreed(index);
  if (!flow.peer && flow.failed_matches_ < kMaxFailedMatches && !seen.is_damaged) {
    if (const Match match = match_response(flow, seen); match.flow) {
      pair(index, *match.flow);
    } else if (flow.failed_matches_++ == 0) {
      const bool is_absent = match.candidates == 0;
      findings_.add(is_absent ? Rule::kAnswerWithoutRequest : Rule::kAnswerOfSeveral, index, {seen.number},
                    is_absent ? "a request with this PSN" : "a PSN that one queue pair alone has used",
                    fmt::format("{} with PSN {}{}", name_of(seen.packet.opcode), to_string(seen.packet.psn),
                                is_absent ? "" : fmt::format(", which {} have", match.candidates)));
    }
  }
  if (!flow.peer || !flows_[*flow.peer].direction) return;
  Direction& direction = *flows_[*flow.peer].direction;
  direction.requester.confirm_restart(seen.packet.psn);
  direction.exchange.counts.last_ns = std::max(direction.exchange.counts.last_ns, seen.time_ns);
  const std::optional<Psn> acknowledged = direction.exchange.acknowledged;
  direction.responder.on_answer(seen);
  if (acknowledged) note_answer(*flow.peer, *acknowledged, seen);
}

Connections::Match Connections::match_response(const Flow& flow, const Seen& seen) const {
  const auto others = between_.find(FlowKey{flow.key.destination, flow.key.source, 0});
  if (others == between_.end()) return {};
  std::optional<std::uint32_t> match;
  std::size_t matches = 0;
  bool match_has_port = false;
  for (const std::uint32_t index : others->second) {
    const Flow& other = flows_[index];
    if (other.peer || !other.direction || other.service != flow.service ||
        !other.direction->exchange.log.index_of(seen.packet.psn)) {
      continue;
    }
    // Several queue pairs may use the same PSNs. Many stacks use the same port both ways (fact 6).
    const bool has_port = other.source_port == flow.source_port;
    if (matches == 0 || has_port > match_has_port) {
      match = index;
      matches = 1;
      match_has_port = has_port;
    } else if (has_port == match_has_port) {
      ++matches;
    }
  }
  return {matches == 1 ? match : std::nullopt, matches};
}

void Connections::match_by_port(std::uint32_t index) {
  const Flow& flow = flows_[index];
  const auto others = between_.find(FlowKey{flow.key.destination, flow.key.source, 0});
  if (others == between_.end()) return;
  std::optional<std::uint32_t> match;
  for (const std::uint32_t other_index : others->second) {
    const Flow& other = flows_[other_index];
    if (other_index != index && !other.peer && other.service == flow.service &&
        other.source_port == flow.source_port) {
      if (match) {
        return;  // two that would fit
      }
      match = other_index;
    }
  }
  if (match) pair(index, *match);
}

void Connections::pair(std::uint32_t a, std::uint32_t b) {
  flows_[a].peer = b;
  flows_[b].peer = a;
  for (const std::uint32_t index : {a, b}) {
    if (flows_[index].direction && flows_[a].source_port == flows_[b].source_port) {
      flows_[index].direction->exchange.fitting_answers = Exchange::kManyAnswers;
    }
  }
}

void Connections::finish(std::int64_t end_ns) {
  cm_dialogs_.finish(end_ns);
  note_open_waits(end_ns);
  for (Flow& flow : flows_) {
    if (flow.direction) {
      flow.direction->requester.finish(end_ns);
      flow.direction->responder.finish();
    }
  }
}

std::optional<std::uint32_t> Connections::source_qp_of(const Flow& flow) const {
  if (flow.peer) return flows_[*flow.peer].key.destination_qp;
  return flow.service == Service::kUd ? std::optional(flow.source_qp) : std::nullopt;
}

std::string Connections::name_of_flow(std::uint32_t index) const {
  if (index >= flows_.size()) return "";
  const Flow& flow = flows_[index];
  const auto source = source_qp_of(flow);
  return fmt::format("{} qp {} > {} qp {}", to_string(flow.key.source), source ? qp_text(*source) : "?",
                     to_string(flow.key.destination), qp_text(flow.key.destination_qp));
}

}  // namespace urnic::check
