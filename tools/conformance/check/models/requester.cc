// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/models/requester.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

// More than a requester may have outstanding, so that nothing but a new life of the queue pair jumps so far.
constexpr std::int32_t kFar = 1 << 16;

// What to say of a requester that goes on without this answer.
Rule rule_of(const Hole& hole) {
  switch (hole.operation) {
    case Operation::kAtomicWrite:
    case Operation::kFlush:
      return Rule::kAnswerSkipped;
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return Rule::kAtomicUnanswered;
    default:
      return Rule::kReadResponseMissing;
  }
}

}  // namespace

void RequesterModel::on_request(const Seen& seen) {
  ++exchange_.counts.request_packets;
  if (exchange_.log.is_empty()) return begin(seen);
  exchange_.has_unplaced = seen.is_damaged;
  settle_read_span(seen.packet.psn);
  const std::int32_t ahead = distance(exchange_.log.next(), seen.packet.psn);
  if (std::abs(ahead) > kFar) return on_far(seen);
  if (far_) {
    exchange_.findings.add(Rule::kPsnFar, exchange_.flow, {far_->first_frame},
                           fmt::format("a PSN near {}", to_string(exchange_.log.next())),
                           to_string(far_->first));
    far_.reset();
  }
  if (ahead < 0) {
    on_repeat(seen);
  } else if (ahead == 0 || !seen.is_damaged) {  // a damaged PSN is no reason to miss others
    on_new(seen, static_cast<std::uint32_t>(ahead));
  }
}

void RequesterModel::on_copy(const Seen& seen) {
  if (RequestEntry* const entry = exchange_.log.find(seen.packet.psn);
      entry != nullptr && !entry->is_missing) {
    entry->transmissions = static_cast<std::uint16_t>(std::min(entry->transmissions + 1, 0xffff));
  }
}

RequestEntry RequesterModel::entry_of(const Seen& seen) const {
  const Packet& packet = seen.packet;
  RequestEntry entry{.first = packet.psn,
                     .may_be_rest = !exchange_.is_settled || exchange_.findings.is_lossy(),
                     .is_damaged = seen.is_damaged,
                     .ack_requested = packet.ack_requested,
                     .has_digest = seen.has_whole_payload() && !seen.is_damaged,
                     .opcode = packet.opcode,
                     .first_frame = seen.number,
                     .last_frame = seen.number,
                     .first_time_ns = seen.time_ns,
                     .last_time_ns = seen.time_ns,
                     .payload_bytes = static_cast<std::uint32_t>(packet.payload_bytes),
                     .address = packet.address,
                     .r_key = packet.r_key,
                     .length = packet.length};
  if (packet.info->operation == Operation::kRead) entry.span = exchange_.responses_for(packet.length);
  if (entry.has_digest) entry.digest = content_digest(packet);
  return entry;
}

void RequesterModel::begin(const Seen& seen) {
  if (seen.is_damaged) return;
  check_first_psn(seen);
  // Nothing was ever sent before the first PSN that REQ or REP names.
  if (exchange_.first_psn == seen.packet.psn) exchange_.is_settled = true;
  exchange_.acknowledged = seen.packet.psn + -1;
  message_ = Message();
  far_.reset();
  repetition_next_.reset();
  if (!seen.packet.info->starts_message()) {
    exchange_.findings.add(Rule::kJoinedMidway, exchange_.flow, {seen.number}, "the start of a message",
                           name_of(seen.packet.opcode));
  } else {
    message_.is_known = true;
  }
  on_new(seen, 0);
}

// The first requests may be missing in the capture; a requester never begins before them.
void RequesterModel::check_first_psn(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  if (!exchange_.first_psn || distance(*exchange_.first_psn, psn) >= 0) return;
  exchange_.findings.add(Rule::kFirstPsn, exchange_.flow, {seen.number},
                         fmt::format("{} or later", to_string(*exchange_.first_psn)), to_string(psn));
}

void RequesterModel::on_far(const Seen& seen) {
  if (seen.is_damaged) return;
  if (far_ && seen.packet.psn == far_->first + far_->span) {
    confirm_restart(far_->first);
    return on_request(seen);
  }
  if (far_ && seen.packet.psn == far_->first) {
    return;  // sent again
  }
  if (far_ || !seen.packet.info->starts_message()) {
    exchange_.findings.add(Rule::kPsnFar, exchange_.flow, {far_ ? far_->first_frame : seen.number},
                           fmt::format("a PSN near {}", to_string(exchange_.log.next())),
                           to_string(far_ ? far_->first : seen.packet.psn));
  }
  far_.reset();
  if (seen.packet.info->starts_message()) far_ = entry_of(seen);
}

void RequesterModel::confirm_restart(Psn psn) {
  if (!far_ || !far_->covers(psn)) return;
  exchange_.findings.add(
      Rule::kRestart, exchange_.flow, {far_->first_frame}, "",
      fmt::format("PSN {} instead of {}", to_string(far_->first), to_string(exchange_.log.next())));
  exchange_.reset();
  exchange_.acknowledged = far_->first + -1;
  exchange_.log.append(*far_);
  exchange_.last_span_unsure = far_->info().operation == Operation::kRead;
  message_ =
      Message{.is_known = true, .is_open = !far_->info().ends_message(), .operation = far_->info().operation};
  repetition_next_.reset();
  far_.reset();
}

void RequesterModel::on_new(const Seen& seen, std::uint32_t missing) {
  const Packet& packet = seen.packet;
  if (missing > 0) {
    exchange_.log.append(RequestEntry{.first = exchange_.log.next(),
                                      .span = missing,
                                      .is_missing = true,
                                      .first_frame = seen.number,
                                      .last_frame = seen.number,
                                      .first_time_ns = seen.time_ns,
                                      .last_time_ns = seen.time_ns});
    exchange_.counts.missing_psns += missing;
    exchange_.findings.add(exchange_.is_reliable ? Rule::kRequestGap : Rule::kUnreliableLoss, exchange_.flow,
                           {seen.number},
                           fmt::format("PSN {}", to_string(packet.psn + -static_cast<std::int64_t>(missing))),
                           fmt::format("PSN {}: {} missing", to_string(packet.psn), missing));
    message_.is_known = false;
    message_.has_gap = true;
  }
  note_confidence(seen);
  check_reads_in_flight(seen);
  check_sequence(seen);
  check_segment(seen);
  follow_message(seen);
  if (exchange_.fatal && seen.time_ns - exchange_.fatal->time_ns > kInFlightNs) {
    exchange_.findings.add(Rule::kRequestAfterNak, exchange_.flow, {exchange_.fatal->frame, seen.number},
                           fmt::format("silence after {}", describe_syndrome(exchange_.fatal->syndrome)),
                           fmt::format("{} with PSN {}", name_of(packet.opcode), to_string(packet.psn)));
  }
  exchange_.log.append(entry_of(seen));
  exchange_.last_span_unsure = packet.info->operation == Operation::kRead && exchange_.mtu == 0;
  exchange_.counts.bytes += packet.payload_bytes;
  exchange_.counts.delivered_bytes += exchange_.is_reliable ? 0 : packet.payload_bytes;
  repetition_next_.reset();
  if (packet.info->ends_message()) count_message(*packet.info);
}

void RequesterModel::note_confidence(const Seen& seen) {
  if (exchange_.log.is_empty() || exchange_.acknowledged != exchange_.log.back().last() ||
      exchange_.counts.answer_packets == 0) {
    return;
  }
  // Everything was answered, and the requester goes on: nothing newer was ever sent, and it misses nothing.
  exchange_.is_settled = true;
  for (Hole& hole : exchange_.holes) hole.passed_in = hole.passed_in == 0 ? seen.number : hole.passed_in;
}

// The last response to a READ that the requester goes on after has been here before that.
void RequesterModel::check_reads_in_flight(const Seen& seen) {
  const OpcodeInfo& info = *seen.packet.info;
  const auto takes_resources = [](const OpcodeInfo& one) {
    return one.operation == Operation::kRead || one.is_atomic();
  };
  if (!exchange_.limits || !exchange_.acknowledged || seen.is_damaged || !takes_resources(info)) return;
  RequestLog& log = exchange_.log;
  std::uint32_t in_flight = 1;
  if (const auto oldest = log.index_of(*exchange_.acknowledged + 1)) {
    for (std::size_t i = *oldest; i < log.size(); ++i) {
      in_flight += !log[i].is_missing && !log[i].is_answered && takes_resources(log[i].info()) ? 1 : 0;
    }
  }
  if (in_flight > exchange_.limits->max_reads) {
    exchange_.add_if_sure(Rule::kReadsInFlight, {seen.number},
                          fmt::format("{} at most", exchange_.limits->max_reads),
                          fmt::format("{}{}", in_flight, kUnlessLost));
  }
}

void RequesterModel::settle_read_span(Psn next) {
  if (!exchange_.last_span_unsure) return;
  // Nothing showed the path MTU yet, but the next PSN does: a READ takes as many as it has responses.
  const RequestEntry& read = exchange_.log.back();
  const std::int32_t span = distance(read.first, next);
  for (std::uint32_t mtu = 256; mtu <= 4096 && span > 0; mtu *= 2) {
    const std::uint64_t responses = std::max<std::uint64_t>((std::uint64_t{read.length} + mtu - 1) / mtu, 1);
    if (responses == static_cast<std::uint64_t>(span) && responses <= RequestLog::kMaxSpan) {
      // Unsure: a request after it may have been lost. Responses will tell.
      exchange_.last_span_unsure = false;
      exchange_.log.back().span = static_cast<std::uint32_t>(responses);
      exchange_.log.back().span_unsure = true;
      return;
    }
  }
}

void RequesterModel::check_sequence(const Seen& seen) {
  if (!message_.is_known) return;
  const OpcodeInfo& info = *seen.packet.info;
  const bool goes_on = !info.starts_message();
  if (goes_on != message_.is_open || (goes_on && info.operation != message_.operation)) {
    exchange_.findings.add(Rule::kOpcodeSequence, exchange_.flow, {seen.number},
                           message_.is_open ? fmt::format("Middle or Last of the {} of frame {}",
                                                          to_string(message_.operation), message_.first_frame)
                                            : "the start of a message",
                           name_of(seen.packet.opcode));
  }
}

void RequesterModel::check_segment(const Seen& seen) {
  const Packet& packet = seen.packet;
  const OpcodeInfo& info = *packet.info;
  if (!info.has_payload || info.operation == Operation::kAtomicWrite || packet.payload_bytes > 4096) return;
  const auto complain = [&](Rule rule, std::string expected) {
    exchange_.findings.add(rule, exchange_.flow, {seen.number}, std::move(expected),
                           fmt::format("{} of {} bytes", name_of(packet.opcode), packet.payload_bytes));
  };
  if (exchange_.mtu != 0 && packet.payload_bytes > exchange_.mtu) {
    return complain(Rule::kMtu, fmt::format("at most {} bytes", exchange_.mtu));
  }
  if (!info.ends_message()) {
    if (packet.pad_bytes != 0 || seen.is_damaged) {
      return;  // a finding of its own
    }
    if (exchange_.mtu == 0) {
      if (!exchange_.learn_mtu(packet.payload_bytes)) {
        complain(Rule::kMtu, "a path MTU of 256, 512, 1024, 2048 or 4096 bytes");
      }
    } else if (packet.payload_bytes != exchange_.mtu) {
      complain(Rule::kSegmentLength, fmt::format("{} bytes", exchange_.mtu));
    }
  } else if (info.position == Position::kLast && packet.payload_bytes == 0) {
    complain(Rule::kSegmentLength, "1 byte at least");
  }
}

void RequesterModel::follow_message(const Seen& seen) {
  const Packet& packet = seen.packet;
  const OpcodeInfo& info = *packet.info;
  if (info.starts_message()) {
    message_ = Message{.is_known = true,
                       .from_start = true,
                       .operation = info.operation,
                       .announced = packet.length,
                       .first_frame = seen.number};
  } else if (!message_.is_known) {
    message_.from_start = message_.from_start && info.operation == message_.operation;
    message_.is_known = true;
    message_.operation = info.operation;
  }
  message_.bytes += packet.payload_bytes;
  message_.is_open = !info.ends_message();
  if (info.operation == Operation::kWrite && info.ends_message() && message_.from_start) finish_write(seen);
}

void RequesterModel::finish_write(const Seen& seen) {
  if (!message_.has_gap) {
    if (message_.bytes != message_.announced) {
      exchange_.findings.add(Rule::kRethLength, exchange_.flow, {message_.first_frame, seen.number},
                             fmt::format("{} bytes", message_.announced),
                             fmt::format("{} bytes", message_.bytes));
    }
    return;
  }
  if (message_.bytes != message_.announced) {
    return;  // what is missing had data
  }
  // Everything that was announced is there: if the PSNs left out are acknowledged, they never stood for a
  // packet.
  for (std::size_t i = exchange_.log.size(); i-- > 0;) {
    RequestEntry& entry = exchange_.log[i];
    if (entry.first_frame < message_.first_frame) break;
    entry.is_needless = entry.is_missing;
  }
}

void RequesterModel::count_message(const OpcodeInfo& info) {
  ExchangeCounts& counts = exchange_.counts;
  switch (info.operation) {
    case Operation::kSend:
      ++counts.sends;
      break;
    case Operation::kWrite:
      ++counts.writes;
      break;
    case Operation::kRead:
      ++counts.reads;
      break;
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      ++counts.atomics;
      break;
    default:
      ++counts.others;
      break;
  }
}

void RequesterModel::judge_holes() {
  for (const Hole& hole : exchange_.holes) {
    // A requester that goes on misses nothing; one with requests under way may still be about to ask again.
    if (hole.passed_in != 0) {
      exchange_.findings.add_if_complete(
          rule_of(hole), exchange_.flow, {hole.frame, hole.passed_in},
          fmt::format("an answer with PSN {}", to_string(hole.psn)),
          std::string("later answers, and the requester goes on") + kUnlessLost);
    } else {
      exchange_.findings.add(Rule::kNoAnswer, exchange_.flow, {hole.frame},
                             fmt::format("an answer with PSN {}", to_string(hole.psn)), "the capture ends");
    }
  }
}

void RequesterModel::judge_silence(std::int64_t end_ns) {
  RequestLog& log = exchange_.log;
  // A request that the capture lacks may have asked.
  if (log.is_empty() || !exchange_.acknowledged || exchange_.fatal || exchange_.lacks_requests) return;
  const auto first = log.index_of(*exchange_.acknowledged + 1);
  if (!first) return;
  bool asked = false;
  for (std::size_t i = *first; i < log.size(); ++i) {
    asked = asked || log[i].ack_requested || log[i].info().wants_data_back() || log[i].is_missing;
  }
  const RequestEntry& entry = log[*first];
  if (!asked && exchange_.counts.answer_packets > 0 && end_ns - log.back().last_time_ns > kInFlightNs) {
    exchange_.findings.add(Rule::kAckReqMissing, exchange_.flow, {log.back().last_frame},
                           "AckReq in the last packet before waiting",
                           fmt::format("none since PSN {}, and no answer", to_string(entry.first)));
  } else if (has_given_up()) {
    exchange_.findings.add(Rule::kGaveUp, exchange_.flow, {entry.first_frame, entry.last_frame}, "",
                           fmt::format("PSN {}: {} transmissions, and no answer", to_string(entry.first),
                                       exchange_.tries.repetitions + 1));
  } else if (entry.transmissions > 1 && !(exchange_.refusal && exchange_.refusal->psn == entry.first)) {
    exchange_.findings.add(Rule::kNoAnswer, exchange_.flow, {entry.first_frame, entry.last_frame},
                           fmt::format("an answer to PSN {}", to_string(entry.first)),
                           fmt::format("{} transmissions without", entry.transmissions));
  }
}

bool RequesterModel::has_given_up() const {
  const Tries* const tries = exchange_.tries_of_oldest();
  const auto allowed = exchange_.repetitions_allowed();
  return tries != nullptr && allowed && tries->repetitions > 0 && tries->repetitions == *allowed;
}

void RequesterModel::finish(std::int64_t end_ns) {
  if (exchange_.is_reliable) {
    judge_holes();
    judge_silence(end_ns);
  }
}

}  // namespace urnic::check
