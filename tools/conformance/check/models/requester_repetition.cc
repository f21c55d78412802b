// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Requests that are sent again.
#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/models/requester.h"
#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

// A run of repetitions may leave out what was lost again; further on it is another run.
constexpr std::int32_t kSameRun = 1 << 16;
// A repetition that is seen so shortly after an RNR NAK crossed it.
constexpr std::int64_t kCrossingNs = 100'000;

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

}  // namespace

void RequesterModel::on_repeat(const Seen& seen) {
  const Packet& packet = seen.packet;
  const auto index = exchange_.log.index_of(packet.psn);
  if (!index) {
    ++exchange_.counts.repeated_packets;  // of what is forgotten already
    return;
  }
  RequestEntry& entry = exchange_.log[*index];
  if (entry.is_missing) return fill_gap(seen, *index);
  if (!exchange_.is_reliable) {
    exchange_.findings.add(Rule::kPsnRepeated, exchange_.flow, {entry.first_frame, seen.number},
                           fmt::format("PSN {}", to_string(exchange_.log.next())),
                           fmt::format("PSN {} again", to_string(packet.psn)));
    return;
  }
  ++exchange_.counts.repeated_packets;
  exchange_.counts.repeated_bytes += packet.payload_bytes;
  check_rnr_wait(seen);
  count_try(seen);
  note_repetition(seen, entry.last_time_ns);
  if (!seen.is_damaged && !entry.is_damaged) {
    if (entry.info().operation == Operation::kRead && packet.info->operation == Operation::kRead) {
      check_repeated_read(seen, entry);
    } else {
      check_same(seen, entry);
    }
  }
  entry.ack_requested = entry.ack_requested || packet.ack_requested;
  entry.transmissions = static_cast<std::uint16_t>(std::min(entry.transmissions + 1, 0xffff));
  entry.last_frame = seen.number;
  entry.last_time_ns = seen.time_ns;
}

void RequesterModel::count_try(const Seen& seen) {
  Tries* const tries = exchange_.tries_of_oldest();
  if (tries == nullptr || tries->psn != seen.packet.psn || seen.order == Order::kLate) return;
  ++tries->repetitions;
  const auto allowed = exchange_.repetitions_allowed();
  if (!allowed || tries->repetitions != *allowed + 1) return;
  exchange_.findings.add(Rule::kRetryCount, exchange_.flow, {seen.number},
                         fmt::format("{} repetitions at most", *allowed),
                         fmt::format("PSN {} again", to_string(seen.packet.psn)));
}

void RequesterModel::fill_gap(const Seen& seen, std::size_t index) {
  const RequestEntry missing = exchange_.log[index];
  RequestEntry entry = entry_of(seen);
  const auto offset = static_cast<std::uint32_t>(distance(missing.first, entry.first));
  entry.span = std::min(entry.span, missing.span - offset);
  ++exchange_.counts.late_packets;
  exchange_.counts.bytes += seen.packet.payload_bytes;
  if (exchange_.is_reliable) {
    check_rnr_wait(seen);
    if (seen.order == Order::kLate) {
      exchange_.findings.add(
          Rule::kOvertaken, exchange_.flow, {seen.number}, "",
          fmt::format("{} with PSN {}", name_of(seen.packet.opcode), to_string(seen.packet.psn)));
    } else {
      note_repetition(seen, missing.first_time_ns);
    }
  }
  if (seen.packet.info->ends_message()) count_message(*seen.packet.info);
  exchange_.log.fill(index, entry);
}

void RequesterModel::check_repeated_read(const Seen& seen, RequestEntry& entry) {
  const Packet& packet = seen.packet;
  const auto offset = static_cast<std::uint32_t>(distance(entry.first, packet.psn));
  const std::uint64_t skipped = std::uint64_t{offset} * exchange_.mtu;
  const bool position_known = offset == 0 || exchange_.mtu != 0;
  const bool is_part = skipped <= entry.length && packet.length <= entry.length - skipped;
  if (position_known &&
      (packet.address != entry.address + skipped || packet.r_key != entry.r_key || !is_part)) {
    exchange_.findings.add(
        Rule::kReadResume, exchange_.flow, {entry.first_frame, seen.number},
        fmt::format("{:#x}, key {}, {} bytes at most", entry.address + skipped, key_text(entry.r_key),
                    entry.length - std::min<std::uint64_t>(skipped, entry.length)),
        fmt::format("{:#x}, key {}, {} bytes", packet.address, key_text(packet.r_key), packet.length));
  }
  entry.resume_at(offset);
  const Psn last = entry.last();
  std::erase_if(exchange_.holes, [&](const Hole& hole) {
    return distance(packet.psn, hole.psn) >= 0 && distance(hole.psn, last) >= 0;
  });
}

void RequesterModel::check_same(const Seen& seen, const RequestEntry& entry) {
  const Packet& packet = seen.packet;
  const bool same_content =
      !entry.has_digest || !seen.has_whole_payload() || entry.digest == content_digest(packet);
  const auto complain = [&](std::string expected, std::string what) {
    exchange_.findings.add(Rule::kDuplicateDiffers, exchange_.flow, {entry.first_frame, seen.number},
                           std::move(expected), std::move(what));
  };
  if (entry.opcode != packet.opcode || entry.first != packet.psn) {
    complain(name_of(entry.opcode), fmt::format("{} with the same PSN", name_of(packet.opcode)));
  } else if (entry.payload_bytes != packet.payload_bytes || entry.length != packet.length) {
    complain(fmt::format("{} bytes", entry.payload_bytes),
             fmt::format("{} bytes with the same PSN", packet.payload_bytes));
  } else if (entry.address != packet.address || entry.r_key != packet.r_key) {
    complain(fmt::format("{:#x}, key {}", entry.address, key_text(entry.r_key)),
             fmt::format("{:#x}, key {} with the same PSN", packet.address, key_text(packet.r_key)));
  } else if (!same_content) {
    complain("the same content", "other bytes with the same PSN");
  }
  if (entry.info().is_atomic()) {
    std::erase_if(exchange_.holes, [&](const Hole& hole) { return hole.psn == packet.psn; });
  }
}

void RequesterModel::check_rnr_wait(const Seen& seen) {
  if (!exchange_.refusal || !exchange_.refusal->is_open || exchange_.refusal->kind != AnswerKind::kRnrNak ||
      exchange_.refusal->psn != seen.packet.psn) {
    return;
  }
  const std::int64_t waited = seen.time_ns - exchange_.refusal->time_ns;
  const std::int64_t tolerance = exchange_.refusal->wait_ns / 100 + 50'000;
  if (waited > kCrossingNs && waited + tolerance < exchange_.refusal->wait_ns) {
    exchange_.findings.add(Rule::kRnrEarly, exchange_.flow, {exchange_.refusal->frame, seen.number},
                           fmt::format("{} ms of waiting", milliseconds(exchange_.refusal->wait_ns)),
                           fmt::format("{:.3f} ms", milliseconds(waited)));
  }
}

void RequesterModel::note_repetition(const Seen& seen, std::int64_t since_ns) {
  const Psn psn = seen.packet.psn;
  const bool goes_on = repetition_next_ && distance(*repetition_next_, psn) >= 0 &&
                       distance(*repetition_next_, psn) < kSameRun;
  const RequestEntry* const entry = exchange_.log.find(psn);
  repetition_next_ = (entry != nullptr && !entry->is_missing ? entry->last() : psn) + 1;
  auto& refusal = exchange_.refusal;
  const bool is_asked_for = refusal && refusal->is_open && refusal->psn == psn;
  if (goes_on && is_asked_for && repetition_frame_ > refusal->frame) {
    refusal->is_open = false;  // the run that began since then does it too
    return;
  }
  if (goes_on && !is_asked_for) return;
  repetition_frame_ = seen.number;
  std::string why =
      fmt::format("{:.3f} ms after the last time, without a NAK", milliseconds(seen.time_ns - since_ns));
  std::uint64_t cause = seen.number;
  if (std::any_of(exchange_.holes.begin(), exchange_.holes.end(),
                  [psn](const Hole& hole) { return hole.psn == psn; })) {
    why = "because its answer was lost";
  } else if (refusal && refusal->is_open && distance(refusal->psn, psn) >= 0) {
    why = fmt::format("{:.3f} ms after {}", milliseconds(seen.time_ns - refusal->time_ns),
                      describe_syndrome(refusal->syndrome));
    cause = refusal->frame;
    refusal->is_open = false;
    if (refusal->kind == AnswerKind::kRnrNak) {
      return;  // the finding about the RNR NAKs tells all of it
    }
  }
  const auto describe = [&](Finding& finding) {
    finding.seen = fmt::format("from PSN {} on, {}", to_string(psn), why);
  };
  if (cause == seen.number) {
    exchange_.findings.add(Rule::kRepetition, exchange_.flow, {seen.number}, describe);
  } else {
    exchange_.findings.add(Rule::kRepetition, exchange_.flow, {cause, seen.number}, describe);
  }
}

}  // namespace urnic::check
