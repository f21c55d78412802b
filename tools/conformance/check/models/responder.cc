// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/models/responder.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::uint8_t kRemoteOperationalError = 0x63;

}  // namespace

void ResponderModel::on_answer(const Seen& seen) {
  ++exchange_.counts.answer_packets;
  if (generation_ != exchange_.generation) forget();
  // Data in a damaged answer was sent, at least; a damaged acknowledgement may say anything.
  const bool is_believed = !seen.is_damaged || (!seen.packet.info->is_acknowledge() &&
                                                exchange_.log.find(seen.packet.psn) != nullptr);
  if (exchange_.log.is_empty() || !is_believed || is_unsent(seen)) return;
  if (distance(exchange_.log.oldest() + -1, seen.packet.psn) < 0) {
    if (!complained_of_stranger_) {
      complained_of_stranger_ = true;
      exchange_.findings.add(Rule::kAnswerWithoutRequest, exchange_.flow, {seen.number},
                             fmt::format("PSN {} or later", to_string(exchange_.log.oldest())),
                             to_string(seen.packet.psn));
    }
    return;
  }
  if (seen.order == Order::kLate && exchange_.acknowledged &&
      distance(*exchange_.acknowledged, seen.packet.psn) <= 0) {
    return on_late(seen);
  }
  switch (seen.packet.info->operation) {
    case Operation::kAcknowledge:
      return on_acknowledge(seen);
    case Operation::kReadResponse:
      return on_read_response(seen);
    case Operation::kAtomicAcknowledge:
      return on_atomic_answer(seen);
    case Operation::kSelectiveNak:
      return on_selective_nak(seen);
    default:
      return;
  }
}

void ResponderModel::forget() {
  generation_ = exchange_.generation;
  msn_.forget();
  open_gap_.reset();
  last_ack_.reset();
  not_ready_.reset();
}

bool ResponderModel::is_unsent(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  if (distance(psn, exchange_.log.next()) > 0) return false;
  const bool is_data = seen.packet.info->operation == Operation::kReadResponse;
  const RequestEntry& last = exchange_.log.back();
  if (is_data && !last.is_missing && last.info().operation == Operation::kRead) {
    if (exchange_.last_span_unsure) {
      exchange_.learn_mtu(seen.packet.payload_bytes);
      exchange_.settle_last_span();
      return distance(psn, exchange_.log.next()) <= 0;
    }
    complain_of_unsent(seen, Rule::kReadResponseExtra,
                       fmt::format("{} responses, up to PSN {}", last.span, to_string(last.last())));
    return true;
  }
  if (exchange_.has_unplaced) {
    return true;  // perhaps that was it
  }
  // What a NAK may name is judged by kind; a NAK for the very next PSN has a rule of its own.
  const bool is_nak =
      seen.packet.info->is_acknowledge() && kind_of(seen.packet.syndrome) == AnswerKind::kSequenceNak;
  complain_of_unsent(seen, is_nak ? Rule::kNakWithoutGap : Rule::kAckUnsent,
                     fmt::format("a PSN before {}", to_string(exchange_.log.next())));
  return true;
}

void ResponderModel::complain_of_unsent(const Seen& seen, Rule rule, std::string expected) {
  std::string what = fmt::format("{} with PSN {}", name_of(seen.packet.opcode), to_string(seen.packet.psn));
  if (exchange_.is_settled && exchange_.fitting_answers >= Exchange::kManyAnswers) {
    return exchange_.add_if_sure(rule, {seen.number}, std::move(expected), std::move(what));
  }
  exchange_.lacks_requests = true;
  if (complained_of_stranger_) return;
  complained_of_stranger_ = true;
  exchange_.findings.add(Rule::kAnswerWithoutRequest, exchange_.flow, {seen.number}, std::move(expected),
                         std::move(what));
}

void ResponderModel::on_late(const Seen& seen) {
  // Overtaken by later answers, which told the requester all that this one does, except data.
  const Psn psn = seen.packet.psn;
  add_overtaken(seen);
  RequestEntry* const entry = exchange_.log.find(psn);
  if (entry != nullptr && !seen.packet.info->is_acknowledge()) {
    entry->is_answered = entry->is_answered || entry->last() == psn;
    exchange_.close_hole(psn);
  }
}

void ResponderModel::add_overtaken(const Seen& seen) {
  exchange_.findings.add(
      Rule::kOvertaken, exchange_.flow, {seen.number}, "",
      fmt::format("{} with PSN {}", name_of(seen.packet.opcode), to_string(seen.packet.psn)));
}

void ResponderModel::on_acknowledge(const Seen& seen) {
  const AnswerKind kind = kind_of(seen.packet.syndrome);
  if (kind == AnswerKind::kAck) return on_ack(seen);
  if (kind != AnswerKind::kReserved) on_nak(seen, kind);
}

void ResponderModel::on_ack(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  if (exchange_.fatal && distance(exchange_.fatal->psn, psn) >= 0) {
    exchange_.findings.add(Rule::kAckAfterNak, exchange_.flow, {exchange_.fatal->frame, seen.number},
                           fmt::format("nothing after PSN {}", to_string(exchange_.fatal->psn + -1)),
                           fmt::format("ACK of PSN {}", to_string(psn)));
  }
  if (exchange_.acknowledged && distance(*exchange_.acknowledged, psn) <= 0) return on_old_ack(seen);
  RequestEntry* const entry = exchange_.log.find(psn);
  if (entry != nullptr && !entry->is_missing) {
    sample_rtt(seen, *entry);
    if (entry->info().wants_data_back() && !entry->is_answered && !entry->is_damaged) {
      exchange_.findings.add(Rule::kAnswerOpcode, exchange_.flow, {entry->first_frame, seen.number},
                             fmt::format("the answer of a {}", to_string(entry->info().operation)),
                             "a plain ACK");
      entry->is_answered = true;
    }
  }
  const bool is_repeated = entry != nullptr && entry->transmissions > 1;
  advance_to(psn, seen, true, is_repeated ? fetches_behind(psn) : 0);
  last_ack_ = psn;
}

void ResponderModel::on_old_ack(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  if (last_ack_ && distance(*last_ack_, psn) < 0) {
    exchange_.add_if_in_order(seen, Rule::kAckRegress, fmt::format("PSN {} or later", to_string(*last_ack_)),
                              to_string(psn));
    return;
  }
  if (psn != *exchange_.acknowledged) {
    // rdma_rxe repeats the PSN of its last ACK, even if READ responses have gone beyond it since.
    exchange_.findings.add(Rule::kAckBehindResponse, exchange_.flow, {seen.number},
                           fmt::format("PSN {}", to_string(*exchange_.acknowledged)), to_string(psn));
    msn_.on_msn(seen, {}, messages_behind(seen.packet.psn));
    last_ack_ = psn;
    return;
  }
  const RequestEntry* const entry = exchange_.log.find(psn);
  if (last_ack_ && entry != nullptr && entry->transmissions > 1 && !entry->ack_requested) {
    exchange_.findings.add(Rule::kAckPerDuplicate, exchange_.flow, {seen.number}, "no ACK",
                           fmt::format("PSN {} again", to_string(psn)));
  }
  msn_.on_executed(seen, psn, {});
  msn_.on_msn(seen, {}, 0);
  last_ack_ = psn;
}

void ResponderModel::on_nak(const Seen& seen, AnswerKind kind) {
  const Psn psn = seen.packet.psn;
  if (exchange_.acknowledged && distance(*exchange_.acknowledged, psn) <= 0) {
    exchange_.add_if_in_order(
        seen, Rule::kNakPsn,
        fmt::format("a PSN after {}, which is acknowledged", to_string(*exchange_.acknowledged)),
        fmt::format("{} with PSN {}", describe_syndrome(seen.packet.syndrome), to_string(psn)));
    return;
  }
  switch (kind) {
    case AnswerKind::kSequenceNak:
      return on_sequence_nak(seen);
    case AnswerKind::kRnrNak:
      return on_rnr_nak(seen);
    default:
      return on_fatal_nak(seen);
  }
}

void ResponderModel::on_sequence_nak(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  ++exchange_.counts.sequence_naks;
  if (open_gap_ == psn) {
    exchange_.findings.add(Rule::kNakRepeated, exchange_.flow, {open_gap_frame_, seen.number},
                           "one NAK until the gap is closed", fmt::format("PSN {} again", to_string(psn)));
    return;
  }
  const RequestEntry* const entry = pass_to_gap(seen);
  open_gap_ = psn;
  open_gap_frame_ = seen.number;
  refuse(seen, AnswerKind::kSequenceNak, 0);
  exchange_.findings.add(Rule::kSequenceNak, exchange_.flow, {seen.number}, [&](Finding& finding) {
    finding.seen = fmt::format("PSN {} is missing at the responder{}", to_string(psn),
                               entry == nullptr || entry->is_missing
                                   ? " and was lost before the place of capture"
                                   : fmt::format(", last sent in frame {}", entry->last_frame));
  });
}

// SELECTIVE_REPEAT.md: everything before its PSN is acknowledged; then it says which later packets have come.
void ResponderModel::on_selective_nak(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  ++exchange_.counts.selective_naks;
  if (exchange_.acknowledged && distance(*exchange_.acknowledged, psn) <= 0) {
    exchange_.add_if_in_order(
        seen, Rule::kNakPsn,
        fmt::format("a PSN after {}, which is acknowledged", to_string(*exchange_.acknowledged)),
        fmt::format("selective NAK with PSN {}", to_string(psn)));
    return;
  }
  pass_to_gap(seen);
  refuse(seen, AnswerKind::kSequenceNak, 0);
  std::size_t held = 0;
  std::optional<Psn> newest;
  for (std::size_t bit = 0; bit < 8 * seen.packet.payload.size(); ++bit) {
    if ((load_u8(seen.packet.payload, bit / 8) >> (bit % 8) & 1u) == 0) continue;
    ++held;
    newest = psn + static_cast<std::int64_t>(bit + 1);
  }
  if (newest && distance(*newest, exchange_.log.next()) <= 0) {
    exchange_.add_if_sure(Rule::kAckUnsent, {seen.number},
                          fmt::format("a PSN before {}", to_string(exchange_.log.next())),
                          fmt::format("PSN {} has come", to_string(*newest)));
  }
  exchange_.findings.add(Rule::kSelectiveNak, exchange_.flow, {seen.number}, [&](Finding& finding) {
    finding.seen =
        fmt::format("PSN {} is missing at the responder, which holds {} later packets", to_string(psn), held);
  });
}

const RequestEntry* ResponderModel::pass_to_gap(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  const RequestEntry* const entry = exchange_.log.find(psn);
  if (entry != nullptr && distance(entry->last(), exchange_.log.next()) == 1) {
    exchange_.add_if_sure(Rule::kNakWithoutGap, {seen.number}, "a request beyond the gap",
                          fmt::format("PSN {} is the last one sent", to_string(psn)));
  }
  // Nothing before the gap may be missing: then that would be the expected PSN.
  std::optional<RequestEntry> missing;
  const auto begin = exchange_.log.index_of(*exchange_.acknowledged + 1).value_or(0);
  for (std::size_t i = begin; i < exchange_.log.size() && distance(exchange_.log[i].first, psn) > 0; ++i) {
    RequestEntry& before = exchange_.log[i];
    if (before.is_missing && !before.is_skipped) {
      before.is_skipped = true;
      missing = missing ? missing : before;
    }
  }
  const bool can_count = !missing || !msn_.counted_by(seen);
  advance_to(psn + -1, seen, can_count, 0);
  if (!can_count) msn_.restart(&seen);
  if (missing) {
    exchange_.add_if_sure(Rule::kNakPsn, {missing->first_frame, seen.number},
                          fmt::format("PSN {}, which was never seen", to_string(missing->first)),
                          fmt::format("PSN {}{}", to_string(psn), kUnlessLost));
  }
  return entry;
}

void ResponderModel::on_rnr_nak(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  ++exchange_.counts.rnr_naks;
  advance_to(psn + -1, seen, true, 0);
  refuse(seen, AnswerKind::kRnrNak, rnr_timer_ns(seen.packet.syndrome & 0x1f));
  if (!not_ready_ || not_ready_->psn != psn) {
    end_not_ready(true, seen.time_ns);
    not_ready_ = NotReady{.psn = psn, .first_frame = seen.number, .first_ns = seen.time_ns};
  }
  ++not_ready_->count;
  not_ready_->last_frame = seen.number;
  not_ready_->last_ns = seen.time_ns;
  not_ready_->syndrome = seen.packet.syndrome;
}

void ResponderModel::on_fatal_nak(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  ++exchange_.counts.fatal_naks[seen.packet.syndrome];
  RequestEntry* const entry = exchange_.log.find(psn);
  const bool is_known = entry != nullptr && !entry->is_missing;
  if (is_known) {
    entry->is_answered = true;
    if (seen.packet.syndrome == kRemoteOperationalError && entry->info().operation == Operation::kSend) {
      exchange_.findings.add(Rule::kOperationalNakOnSend, exchange_.flow, {entry->first_frame, seen.number},
                             "NAK invalid request if the receive is too short",
                             "NAK remote operational error");
    }
  }
  advance_to(psn + -1, seen, true, 0);
  refuse(seen, AnswerKind::kFatalNak, 0);
  exchange_.fatal = exchange_.refusal;
  exchange_.findings.add(Rule::kFatalNak, exchange_.flow, {seen.number}, [&](Finding& finding) {
    finding.seen = fmt::format("{} for PSN {}", describe_syndrome(seen.packet.syndrome), to_string(psn));
    if (is_known) {
      finding.seen += fmt::format(", {} of frame {}", name_of(entry->opcode), entry->first_frame);
      if (entry->info().has_reth || entry->info().has_atomic) {
        finding.seen += fmt::format(" with key {}, address {:#x}", key_text(entry->r_key), entry->address);
      }
      if (entry->info().has_reth) finding.seen += fmt::format(", {} bytes", entry->length);
    }
  });
}

ResponderModel::Range ResponderModel::range_to(Psn psn, const Seen& seen) {
  Range range;
  RequestLog& log = exchange_.log;
  const Psn from = *exchange_.acknowledged + 1;
  for (std::size_t i = log.index_of(from).value_or(0); i < log.size(); ++i) {
    RequestEntry& entry = log[i];
    if (distance(entry.first, psn) < 0) break;
    if (entry.is_missing) {
      if (!entry.is_skipped) {
        const bool between =
            entry.is_needless || (i > 0 && i + 1 < log.size() && log[i - 1].info().ends_message() &&
                                  log[i + 1].info().starts_message());
        range.only_between_messages = range.only_between_messages && between;
        if (!range.has_missing) {
          range.first_missing = entry.first;
          range.gap_frame = entry.first_frame;
        }
        range.has_missing = true;
        entry.is_skipped = true;  // judged now, and once
      }
      continue;
    }
    exchange_.counts.delivered_bytes += distance(entry.last(), psn) >= 0 ? entry.payload_bytes : 0;
    // A READ counts when it begins to be answered (fact 20), other messages when they are complete.
    const bool begins_here = distance(from, entry.first) >= 0;
    const bool is_done =
        entry.info().ends_message() && (entry.span > 1 ? begins_here : distance(entry.last(), psn) >= 0);
    if (is_done) {
      ++range.messages.completed;
      const bool is_plain = entry.info().operation == Operation::kWrite && !entry.info().has_immediate;
      range.messages.plain_writes += is_plain ? 1 : 0;
      range.messages.fetches += entry.info().wants_data_back() ? 1 : 0;
    }
    const bool is_passed = distance(entry.last(), psn) > 0;
    if (is_passed && entry.info().wants_data_back() && !entry.is_answered && !entry.is_damaged) {
      note_lost_answer(entry, seen);
    }
  }
  return range;
}

void ResponderModel::note_lost_answer(const RequestEntry& entry, const Seen& seen) {
  const Psn expected = entry.first + entry.next_response;
  const bool known = std::any_of(exchange_.holes.begin(), exchange_.holes.end(),
                                 [expected](const Hole& hole) { return hole.psn == expected; });
  if (known || exchange_.holes.size() >= kMaxHoles) return;
  exchange_.holes.push_back(Hole{.psn = expected, .operation = entry.info().operation, .frame = seen.number});
  ++exchange_.counts.implied_naks;
  exchange_.findings.add(Rule::kImpliedNak, exchange_.flow, {entry.first_frame, seen.number}, "",
                         fmt::format("the answer of {} with PSN {} is missing",
                                     to_string(entry.info().operation), to_string(expected)));
}

void ResponderModel::advance_to(Psn psn, const Seen& seen, bool with_msn, std::uint32_t ahead) {
  if (!exchange_.acknowledged) exchange_.acknowledged = psn;
  if (distance(*exchange_.acknowledged, psn) < 0) return;
  const Range range = range_to(psn, seen);
  exchange_.fitting_answers += exchange_.fitting_answers < Exchange::kManyAnswers ? 1 : 0;
  exchange_.acknowledged = psn;
  if (exchange_.refusal && distance(exchange_.refusal->psn, psn) >= 0) exchange_.refusal->is_open = false;
  if (open_gap_ && distance(*open_gap_, psn) >= 0) open_gap_.reset();
  if (not_ready_ && distance(not_ready_->psn, psn) >= 0) end_not_ready(true, seen.time_ns);
  msn_.on_executed(seen, psn, range.messages);
  if (range.has_missing) {
    judge_missing(range, seen, with_msn);
  } else if (with_msn) {
    msn_.on_msn(seen, range.messages, ahead);
  } else {
    msn_.on_progress(range.messages);
  }
}

void ResponderModel::judge_missing(const Range& range, const Seen& seen, bool with_msn) {
  const std::int32_t counted = with_msn ? msn_.counted_by(seen).value_or(-1) : -1;
  const auto completed = static_cast<std::int32_t>(range.messages.completed);
  if (counted > completed) {
    // The responder counted messages that the capture does not have.
    exchange_.findings.add(
        Rule::kRequestUnseen, exchange_.flow, {range.gap_frame, seen.number},
        fmt::format("PSN {} before it is acknowledged", to_string(range.first_missing)),
        fmt::format("MSN {} counts {} messages, the capture has {}", seen.packet.msn, counted, completed));
    exchange_.findings.set_lossy();
  } else if (counted == completed && range.only_between_messages) {
    exchange_.add_if_sure(
        Rule::kPsnSkipped, {range.gap_frame, seen.number},
        fmt::format("PSN {}", to_string(range.first_missing)),
        fmt::format("a later one, and MSN {} says that nothing is missing", seen.packet.msn));
  } else {
    exchange_.add_if_sure(Rule::kAckOverGap, {range.gap_frame, seen.number},
                          fmt::format("nothing after PSN {}", to_string(range.first_missing + -1)),
                          fmt::format("PSN {} is acknowledged{}", to_string(seen.packet.psn), kUnlessLost));
  }
  msn_.restart(with_msn ? &seen : nullptr);
}

std::uint32_t ResponderModel::messages_behind(Psn psn) {
  std::uint32_t messages = 0;
  for (std::size_t i = exchange_.log.size(); i-- > 0;) {
    const RequestEntry& entry = exchange_.log[i];
    if (distance(psn, entry.first) <= 0) break;
    messages += entry.is_missing ? entry.span : (entry.info().ends_message() ? 1 : 0);
  }
  return messages;
}

std::uint32_t ResponderModel::fetches_behind(Psn psn) {
  std::uint32_t fetches = 0;
  for (std::size_t i = exchange_.log.size(); i-- > 0;) {
    const RequestEntry& entry = exchange_.log[i];
    if (distance(psn, entry.first) <= 0) break;
    fetches += !entry.is_missing && entry.info().wants_data_back() ? 1 : 0;
  }
  return fetches;
}

void ResponderModel::sample_rtt(const Seen& seen, const RequestEntry& entry) {
  // A request sent twice does not say which of them was answered.
  const std::int64_t rtt = seen.time_ns - entry.first_time_ns;
  if (entry.transmissions != 1 || rtt < 0 || entry.is_answered) return;
  ExchangeCounts& counts = exchange_.counts;
  counts.rtt_min_ns = counts.rtt_samples == 0 ? rtt : std::min(counts.rtt_min_ns, rtt);
  counts.rtt_max_ns = std::max(counts.rtt_max_ns, rtt);
  counts.rtt_sum_ns += rtt;
  ++counts.rtt_samples;
}

void ResponderModel::refuse(const Seen& seen, AnswerKind kind, std::int64_t wait_ns) {
  if (Tries* const tries = exchange_.tries_of_oldest(); tries != nullptr && tries->psn == seen.packet.psn) {
    ++tries->refusals;
  }
  // A second one before anything was sent again answers a copy that was on its way: the wait has begun
  // already.
  const auto& open = exchange_.refusal;
  const bool is_waited_for = kind == AnswerKind::kRnrNak && open && open->is_open && open->kind == kind &&
                             open->psn == seen.packet.psn;
  if (is_waited_for) return;
  exchange_.refusal = Refusal{.kind = kind,
                              .psn = seen.packet.psn,
                              .frame = seen.number,
                              .time_ns = seen.time_ns,
                              .wait_ns = wait_ns,
                              .syndrome = seen.packet.syndrome,
                              .is_open = true};
}

void ResponderModel::end_not_ready(bool accepted, std::int64_t now_ns) {
  if (!not_ready_) return;
  const NotReady& run = *not_ready_;
  exchange_.findings.add(
      Rule::kRnrNak, exchange_.flow, {run.first_frame, run.last_frame}, "",
      fmt::format(
          "PSN {}: {} x {}, {}", to_string(run.psn), run.count, describe_syndrome(run.syndrome),
          accepted ? fmt::format("accepted after {:.3f} ms", static_cast<double>(now_ns - run.first_ns) / 1e6)
                   : "never accepted"));
  not_ready_.reset();
}

void ResponderModel::finish() {
  end_not_ready(false, 0);
  msn_.finish();
}

}  // namespace urnic::check
