// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Answers with data: READ responses and the results of atomics.
#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/models/responder.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {

void ResponderModel::on_read_response(const Seen& seen) {
  const Psn psn = seen.packet.psn;
  RequestEntry* read = exchange_.log.find(psn);
  if (read == nullptr) return;
  if (read->is_missing) {
    exchange_.findings.add(Rule::kRequestUnseen, exchange_.flow, {seen.number}, "the request of this answer",
                           fmt::format("nothing with PSN {}", to_string(psn)));
    exchange_.findings.set_lossy();
    return;
  }
  const Operation operation = read->info().operation;
  if (operation == Operation::kFlush || operation == Operation::kAtomicWrite) {
    // Fact 32.
    if (seen.packet.info->position != Position::kOnly || seen.packet.payload_bytes != 0) {
      exchange_.add_if_sure(
          Rule::kReadResponseLength, {read->first_frame, seen.number}, "READ response Only of 0 bytes",
          fmt::format("{} of {} bytes", name_of(seen.packet.opcode), seen.packet.payload_bytes));
    }
    sample_rtt(seen, *read);
    read->is_answered = true;
    return on_whole_answer(seen, messages_behind(psn));
  }
  if (operation != Operation::kRead) {
    const RequestEntry* const before = exchange_.log.find(read->first + -1);
    const bool is_extra = before != nullptr && !before->is_missing &&
                          before->info().operation == Operation::kRead && before->is_answered;
    exchange_.add_if_sure(
        is_extra ? Rule::kReadResponseExtra : Rule::kAnswerOpcode, {read->first_frame, seen.number},
        fmt::format("the answer of a {}", name_of(read->opcode)), name_of(seen.packet.opcode));
    return;
  }
  const auto offset = static_cast<std::uint32_t>(distance(read->first, psn));
  if (!seen.packet.info->ends_message() && exchange_.mtu == 0 && !seen.is_damaged) {
    exchange_.learn_mtu(seen.packet.payload_bytes);
  }
  if (exchange_.last_span_unsure && seen.packet.info->ends_message() && read == &exchange_.log.back()) {
    read->span = offset + 1;
    exchange_.last_span_unsure = false;
  }
  check_read_response(seen, *read, offset);
  if (offset == 0 && read->next_response == 0) sample_rtt(seen, *read);
  check_order_of_responses(seen, *read, offset);
  if (exchange_.acknowledged && distance(*exchange_.acknowledged, psn) > 0) {
    advance_to(psn, seen, seen.packet.info->has_aeth, messages_behind(psn));
  } else if (seen.packet.info->has_aeth) {
    on_repeated_answer(seen);
  }
}

void ResponderModel::check_read_response(const Seen& seen, RequestEntry& read, std::uint32_t offset) {
  if (read.is_damaged || exchange_.mtu == 0) return;
  const Position position = seen.packet.info->position;
  const bool ends = offset + 1 == read.span;
  const auto place = [ends](bool starts) {
    return starts ? (ends ? Position::kOnly : Position::kFirst)
                  : (ends ? Position::kLast : Position::kMiddle);
  };
  const bool is_resumed = offset > 0 && read.was_resumed_at(offset);
  if (offset == 0 && read.may_be_rest && position == (ends ? Position::kLast : Position::kMiddle)) {
    return;  // of a READ that began before the capture
  }
  if (position != place(offset == 0) && !(is_resumed && position == place(true))) {
    exchange_.add_if_sure(
        Rule::kReadResponseOpcode, {read.first_frame, seen.number},
        fmt::format("response {} of {} as {}", offset + 1, read.span,
                    name_of(static_cast<std::uint8_t>(0x0d + static_cast<int>(place(offset == 0))))),
        name_of(seen.packet.opcode));
    return;
  }
  if (is_resumed && position != place(true)) {
    exchange_.findings.add(Rule::kReadResumeMiddle, exchange_.flow, {read.last_frame, seen.number},
                           "READ response First or Only", name_of(seen.packet.opcode));
  }
  const std::uint64_t before = std::uint64_t{offset} * exchange_.mtu;
  const std::uint64_t wanted =
      read.length <= before ? 0 : std::min<std::uint64_t>(read.length - before, exchange_.mtu);
  if (seen.packet.payload_bytes != wanted) {
    exchange_.add_if_sure(Rule::kReadResponseLength, {read.first_frame, seen.number},
                          fmt::format("{} bytes in response {} of {}", wanted, offset + 1, read.span),
                          fmt::format("{} bytes", seen.packet.payload_bytes));
  }
}

void ResponderModel::check_order_of_responses(const Seen& seen, RequestEntry& read, std::uint32_t offset) {
  if (offset > read.next_response && !read.is_answered && exchange_.holes.size() < kMaxHoles) {
    exchange_.holes.push_back(Hole{.psn = read.first + read.next_response, .frame = seen.number});
    ++exchange_.counts.implied_naks;
    exchange_.findings.add(
        Rule::kImpliedNak, exchange_.flow, {read.first_frame, seen.number}, "",
        fmt::format("READ response with PSN {} is missing", to_string(exchange_.holes.back().psn)));
  }
  exchange_.close_hole(seen.packet.psn);
  read.next_response = std::max(read.next_response, offset + 1);
  if (offset + 1 == read.span) {
    if (!read.is_answered) {
      exchange_.counts.bytes += read.length;
      exchange_.counts.delivered_bytes += read.length;
    }
    read.is_answered = true;
  }
}

void ResponderModel::on_atomic_answer(const Seen& seen) {
  RequestEntry* const entry = exchange_.log.find(seen.packet.psn);
  if (entry == nullptr || entry->is_missing) {
    if (entry != nullptr) {
      exchange_.findings.add(Rule::kRequestUnseen, exchange_.flow, {seen.number},
                             "the request of this answer",
                             fmt::format("nothing with PSN {}", to_string(seen.packet.psn)));
      exchange_.findings.set_lossy();
    }
    return;
  }
  if (!entry->info().is_atomic()) {
    if (!entry->is_damaged) {
      exchange_.add_if_sure(Rule::kAnswerOpcode, {entry->first_frame, seen.number},
                            fmt::format("the answer of a {}", name_of(entry->opcode)),
                            name_of(seen.packet.opcode));
    }
    return;
  }
  if (entry->address % 8 != 0) {
    exchange_.findings.add(Rule::kAtomicAlignment, exchange_.flow, {entry->first_frame, seen.number},
                           "NAK invalid request", fmt::format("success at {:#x}", entry->address));
  }
  if (entry->has_original && entry->original != seen.packet.original) {
    exchange_.findings.add(Rule::kAtomicReplay, exchange_.flow, {entry->first_frame, seen.number},
                           fmt::format("{:#x}", entry->original), fmt::format("{:#x}", seen.packet.original));
  }
  if (!seen.is_damaged && !entry->has_original) {
    entry->has_original = true;
    entry->original = seen.packet.original;
  }
  sample_rtt(seen, *entry);
  entry->is_answered = true;
  on_whole_answer(seen, 0);
}

void ResponderModel::on_whole_answer(const Seen& seen, std::uint32_t ahead) {
  const Psn psn = seen.packet.psn;
  exchange_.close_hole(psn);
  if (exchange_.acknowledged && distance(*exchange_.acknowledged, psn) > 0) {
    advance_to(psn, seen, true, ahead);
  } else {
    on_repeated_answer(seen);
  }
}

void ResponderModel::on_repeated_answer(const Seen& seen) {
  // Where nothing tells the order of frames (IPv6), an MSN from before says that this one came late.
  if (seen.order == Order::kUnknown && msn_.counted_by(seen).value_or(0) < 0) return add_overtaken(seen);
  msn_.on_msn(seen, {}, messages_behind(seen.packet.psn));
}

}  // namespace urnic::check
