// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/failure_text.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nic/diagnostics/connection_text.h"
#include "nic/diagnostics/failure_cause.h"
#include "nic/diagnostics/snapshot_names.h"
#include "transport/rc/syndrome.h"
#include "transport/rc/timing.h"

namespace urnic::nic {

using transport::Access;
using transport::CompletionStatus;
using transport::Duration;
using transport::RefusedRequest;

namespace {

constexpr const char* kStart = "urnic: ";
constexpr const char* kIndented = "urnic:   ";

double ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string peer_text(const QueuePairSnapshot& qp) {
  if (qp.peer.is_unspecified()) return "";
  return fmt::format(", peer {} QP 0x{:06x}", address_text(qp.peer), to_integer(qp.peer_qp));
}

/// As ibv_wc_status_str() has them.
std::string_view status_text(CompletionStatus status) {
  using enum CompletionStatus;
  switch (status) {
    case kSuccess:
      return "success";
    case kLocalLengthError:
      return "local length error";
    case kLocalQpOperationError:
      return "local QP operation error";
    case kLocalProtectionError:
      return "local protection error";
    case kWorkRequestFlushed:
      return "Work Request Flushed Error";
    case kMemoryWindowBindError:
      return "memory management operation error";
    case kBadResponse:
      return "bad response error";
    case kLocalAccessError:
      return "local access error";
    case kRemoteInvalidRequest:
      return "remote invalid request error";
    case kRemoteAccessError:
      return "remote access error";
    case kRemoteOperationError:
      return "remote operation error";
    case kRetryExceeded:
      return "transport retry counter exceeded";
    case kRnrRetryExceeded:
      return "RNR retry counter exceeded";
  }
  return "";
}

std::string_view operation_text(transport::SendOperation operation) {
  using enum transport::SendOperation;
  switch (operation) {
    case kSend:
      return "SEND";
    case kSendWithImmediate:
      return "SEND with immediate";
    case kSendWithInvalidate:
      return "SEND with invalidate";
    case kWrite:
      return "RDMA WRITE";
    case kWriteWithImmediate:
      return "RDMA WRITE with immediate";
    case kRead:
      return "RDMA READ";
    case kCompareSwap:
      return "compare and swap";
    case kFetchAdd:
      return "fetch and add";
    case kFlush:
      return "FLUSH";
    case kAtomicWrite:
      return "ATOMIC WRITE";
    case kLocalInvalidate:
      return "local invalidate";
    case kBindWindow:
      return "bind of a memory window";
  }
  return "";
}

std::string access_text(Access access) {
  constexpr std::pair<Access, const char*> kNames[] = {
      {Access::kLocalWrite, "local write"},          {Access::kRemoteWrite, "remote write"},
      {Access::kRemoteRead, "remote read"},          {Access::kRemoteAtomic, "remote atomic"},
      {Access::kWindowBind, "window bind"},          {Access::kFlushGlobal, "flush global"},
      {Access::kFlushPersistent, "flush persistent"}};
  std::string text;
  for (const auto& [right, name] : kNames) {
    if (allows(access, right)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  }
  return text.empty() ? "none" : text;
}

std::string range_text(std::uint64_t address, std::uint64_t length) {
  return fmt::format("0x{:x} + {}", address, length);
}

// --- What failed ---

std::string what_was_translated(const FailureReport& report) {
  const std::string peer = address_text(report.qp.peer);
  const std::string seen_as = address_text(report.seen_as);
  if (report.qp.number == transport::QpNumber{}) {
    return fmt::format("a connection request of {} comes from {}, with a wrong ICRC, and is dropped", peer,
                       seen_as);
  }
  return fmt::format("packets for QP 0x{:06x} come from {}, and are dropped", to_integer(report.qp.number),
                     seen_as);
}

std::string_view encapsulation_text(transport::wire::Encapsulation encapsulation) {
  return encapsulation == transport::wire::Encapsulation::kRoceV1 ? "RoCE v1" : "RoCE v2";
}

std::string what_failed(const FailureReport& report) {
  const QueuePairSnapshot& qp = report.qp;
  if (report.kind == FailureReport::Kind::kConnection) return what_connection_failed(*report.connection);
  if (report.kind == FailureReport::Kind::kStray) {
    return fmt::format("{} sends requests to QP 0x{:06x}, which is not here", address_text(qp.peer),
                       to_integer(qp.number));
  }
  if (report.kind == FailureReport::Kind::kTranslated) return what_was_translated(report);
  if (report.kind == FailureReport::Kind::kOtherEncapsulation) {
    return fmt::format("packets of {} for QP 0x{:06x} come as {}, and are dropped", address_text(qp.peer),
                       to_integer(qp.number), encapsulation_text(report.came_as));
  }
  const std::string who =
      fmt::format("QP 0x{:06x} ({}{})", to_integer(qp.number), name_of(qp.type), peer_text(qp));
  if (report.kind == FailureReport::Kind::kRefusal) {
    const RefusedRequest& refused = *report.refused;
    return fmt::format("{} refused its peer's {}, PSN {}", who, transport::wire::info(refused.opcode).name,
                       refused.psn.value());
  }
  if (report.kind == FailureReport::Kind::kNoDepth) {
    return who + ": a READ, atomic or FLUSH leaves, and max_rd_atomic is 0";
  }
  std::string work = report.is_receive ? "receive" : "work request";
  if (report.request) {
    work = fmt::format("{} of {} bytes", operation_text(report.request->operation), report.request_length);
  }
  return fmt::format("{}: {} with wr_id {} failed: {}", who, work, report.completion.wr_id,
                     status_text(report.completion.status));
}

// --- Why ---

std::string memory_why(std::string_view what, std::uint32_t key, std::uint64_t address, std::uint64_t length,
                       Access wanted, const FailureReport& report, FailureCause cause) {
  const MemoryRegion& range = report.key.range;
  const char* const kind = report.key.is_window ? "memory window" : "memory region";
  const std::string subject = fmt::format("{} with key 0x{:08x}, {}", what, key, range_text(address, length));
  switch (cause) {
    case FailureCause::kStaleKey:
      return fmt::format("{}: the key is not valid any more; its slot now has a {} with key 0x{:08x}",
                         subject, kind, range.key);
    case FailureCause::kOtherDomain:
      return fmt::format("{}: the {} is of protection domain {}, or for another queue pair", subject, kind,
                         to_integer(range.pd));
    case FailureCause::kOutOfBounds:
      return fmt::format("{}: the {} is {}", subject, kind, range_text(range.address, range.length));
    case FailureCause::kRightMissing:
      return fmt::format("{}: it needs {}, and the {} has {}", subject, access_text(wanted), kind,
                         access_text(range.access));
    case FailureCause::kUnknownKey:
      return fmt::format("{}: there is nothing with this key", subject);
    default:
      return fmt::format("{}: the memory itself cannot be accessed", subject);
  }
}

std::string element_why(const FailureReport& report, FailureCause cause) {
  const FailureReport::BadElement& bad = *report.bad_element;
  return memory_why(fmt::format("element {} of the scatter/gather list,", bad.index),
                    to_integer(bad.sge.lkey), bad.sge.address, bad.sge.length,
                    bad.is_write ? Access::kLocalWrite : Access::kNone, report, cause);
}

std::string refusal_why(const FailureReport& report, FailureCause cause) {
  const RefusedRequest& refused = *report.refused;
  switch (cause) {
    case FailureCause::kMtuDiffers:
      return fmt::format("it is {} bytes long, and our path MTU is {}: the peer's is another",
                         refused.payload_bytes, report.qp.path_mtu);
    case FailureCause::kBadLength:
      return fmt::format("its {} bytes do not fit its place in the message, or the {} bytes of its RETH",
                         refused.payload_bytes, refused.length);
    case FailureCause::kMessageTooLong:
      return fmt::format("the message has {} bytes or more, the receive that it took has room for {}",
                         refused.length, refused.room);
    case FailureCause::kOperationNotAllowed:
      return fmt::format("our queue pair does not allow it: it needs {}", access_text(refused.wanted));
    case FailureCause::kTooManyReads:
      return "as many READs and atomics as we allow wait for their answers already";
    case FailureCause::kMisaligned:
      return fmt::format("the address 0x{:x} is no multiple of 8", refused.address);
    case FailureCause::kNotInsideMessage:
      return "it does not go on with the message before, or begins one inside it";
    case FailureCause::kNoXrcReceiver:
      return "no shared receive queue of the XRC domain has the number that it names";
    default:
      return memory_why("it reaches for memory", to_integer(refused.rkey), refused.address, refused.length,
                        refused.wanted, report, cause);
  }
}

std::string silence_why(const FailureReport& report, FailureCause cause) {
  const std::string address = address_text(report.qp.peer);
  const char* const protocol = report.qp.peer.is_ipv4_mapped() ? "ARP" : "neighbor discovery";
  switch (cause) {
    case FailureCause::kNobodyHasAddress:
      return fmt::format("no host answers {} for {}{}", protocol, address,
                         report.qp.peer.is_link_local()
                             ? ", a link-local GID (index 0), which is good on one link only"
                             : "");
    case FailureCause::kOtherSegment:
      return fmt::format("no host answers {} for {}, which is not in our network", protocol, address);
    case FailureCause::kNoRocePeer:
      return fmt::format("{} is there (MAC {}), but no RoCE packet for this queue pair ever came from it",
                         address, to_string(report.neighbor_mac));
    case FailureCause::kNothingComesOverIp:
      return fmt::format(
          "no RoCE packet for this queue pair ever came from {}, and whether a host has that address only "
          "this host's network knows",
          address);
    case FailureCause::kPsnsDiffer:
      return fmt::format(
          "the peer answers with PSN {}, and this queue pair has sent nothing but PSN {} to {}",
          report.history.foreign_psn.value(), report.history.first_request.value(),
          report.history.last_request.value());
    case FailureCause::kPacketsLost:
      return fmt::format("the peer said {} times that packets are missing, and repeating them did not help",
                         report.history.sequence_naks);
    default:
      return fmt::format(
          "the peer's last packet came {:.1f} ms before we gave up; since then it says nothing",
          ms(report.at - report.history.last_received));
  }
}

std::string request_text(const FailureReport& report) {
  if (!report.request) return "the request";
  return fmt::format("rkey 0x{:08x}, {}", to_integer(report.request->rkey),
                     range_text(report.request->remote_address, report.request_length));
}

std::string completion_why(const FailureReport& report, FailureCause cause) {
  const QpHistory& history = report.history;
  switch (report.completion.status) {
    case CompletionStatus::kRetryExceeded:
      return silence_why(report, cause);
    case CompletionStatus::kRnrRetryExceeded:
      return fmt::format(
          "the peer had no receive posted: {} RNR NAKs over {:.1f} ms, its min_rnr_timer {} ({} ms)",
          history.rnr_naks, ms(report.at - history.first_rnr_nak), history.rnr_timer_code,
          ms(transport::rnr_timer(history.rnr_timer_code)));
    case CompletionStatus::kRemoteAccessError:
      return fmt::format("the peer does not let us at its memory: {}", request_text(report));
    case CompletionStatus::kRemoteInvalidRequest:
      return fmt::format("the peer takes no such request: {}, path MTU {}", request_text(report),
                         report.qp.path_mtu);
    case CompletionStatus::kRemoteOperationError:
      return "the peer could not carry it out";
    case CompletionStatus::kBadResponse:
      return fmt::format("the response is not what was requested (our path MTU is {})", report.qp.path_mtu);
    case CompletionStatus::kLocalLengthError:
      return fmt::format("{} bytes are not a length for it", report.request_length);
    case CompletionStatus::kMemoryWindowBindError:
      return "the region does not allow the window, or not so";
    case CompletionStatus::kLocalProtectionError:
      return "the memory of the work request cannot be accessed";
    default:
      return std::string(status_text(report.completion.status));
  }
}

std::string why(const FailureReport& report, FailureCause cause) {
  if (report.kind == FailureReport::Kind::kConnection) return why_no_connection(report);
  if (report.kind == FailureReport::Kind::kStray) return "no queue pair has this number, and none had lately";
  if (report.kind == FailureReport::Kind::kTranslated) {
    const bool is_request = report.qp.number == transport::QpNumber{};
    return is_request ? "the request names the address that it was sent from, and that was changed on the way"
                      : fmt::format("its peer's address is {}", address_text(report.qp.peer));
  }
  if (report.kind == FailureReport::Kind::kOtherEncapsulation) {
    return "the queue pair sends the other one: the source GID indices of both ends are of different types";
  }
  if (report.kind == FailureReport::Kind::kNoDepth) {
    return "0 counts as 1 here, as mlx5 is reported to take it";
  }
  if (report.bad_element) return element_why(report, cause);
  const bool is_refusal =
      report.kind == FailureReport::Kind::kRefusal || (report.is_receive && report.refused);
  return is_refusal ? refusal_why(report, cause) : completion_why(report, cause);
}

// --- What happened last ---

std::string syndrome_text(std::uint8_t syndrome) {
  using transport::Nak;
  using transport::SyndromeKind;
  switch (transport::kind_of(syndrome)) {
    case SyndromeKind::kAcknowledge:
      return "ACK";
    case SyndromeKind::kRnrNak:
      return fmt::format("RNR NAK, timer {} ms", ms(transport::rnr_timer(transport::value_of(syndrome))));
    case SyndromeKind::kReserved:
      return fmt::format("syndrome 0x{:02x}", syndrome);
    case SyndromeKind::kNak:
      break;
  }
  switch (transport::nak_of(syndrome).value_or(Nak::kPsnSequenceError)) {
    case Nak::kInvalidRequest:
      return "NAK invalid request";
    case Nak::kRemoteAccessError:
      return "NAK remote access";
    case Nak::kRemoteOperationalError:
      return "NAK remote operation";
    case Nak::kPsnSequenceError:
      break;
  }
  return "NAK PSN sequence";
}

std::string line_of(const QpHistoryEvent& event, const FailureReport& report) {
  const std::string time = fmt::format("{}  {:>10.3f} ms  ", kIndented, -ms(report.at - event.at));
  if (event.kind == QpHistoryEvent::Kind::kAckTimeout) {
    return fmt::format("{}no acknowledgement in time, {} of {} retries used\n", time, event.retries_used,
                       report.qp.retry_count);
  }
  const char* const direction = event.kind == QpHistoryEvent::Kind::kSent       ? "sent"
                                : event.kind == QpHistoryEvent::Kind::kReceived ? "received"
                                                                                : "not sent";
  using transport::wire::info;
  std::string line = fmt::format("{}{:<8}  ", time, direction);
  if (event.packets == 1) {
    line += fmt::format("{}, PSN {}", info(event.opcode).name, event.psn.value());
  } else {
    line += fmt::format("{} packets in {:.3f} ms, {} to {}, PSN {} to {}", event.packets,
                        ms(event.until - event.at), info(event.first_opcode).name, info(event.opcode).name,
                        event.first_psn.value(), event.psn.value());
  }
  if (event.has_syndrome) line += fmt::format(", {}", syndrome_text(event.syndrome));
  if (event.all_payload_bytes > 0) line += fmt::format(", {} bytes", event.all_payload_bytes);
  if (event.kind == QpHistoryEvent::Kind::kNotSent) line += " (the peer's MAC is not known)";
  return line + '\n';
}

}  // namespace

namespace {

constexpr std::string_view kElementRule =
    "an element names memory of this program by its lkey; key, bounds and rights of it are checked";

/// As words_for(), but an element's memory is this program's own: no key of it is exchanged.
CauseWords words_of(const FailureReport& report, FailureCause cause) {
  CauseWords words = words_for(cause);
  if (!report.bad_element || words.rule != words_for(FailureCause::kUnknownKey).rule) return words;
  words.rule = kElementRule;
  if (cause == FailureCause::kUnknownKey) {
    words.advice =
        "take the lkey of the ibv_mr that covers the element, and keep that registered until the completion";
  } else if (cause == FailureCause::kStaleKey) {
    words.advice = "the region was deregistered: keep it until the last request that uses it has completed";
  }
  return words;
}

}  // namespace

std::string explain(const FailureReport& report) {
  const FailureCause cause = cause_of(report);
  const CauseWords words = words_of(report, cause);
  std::string text = fmt::format("{}{}\n", kStart, what_failed(report));
  text += fmt::format("{}why: {}\n", kIndented, why(report, cause));
  text += fmt::format("{}rule: {}\n", kIndented, words.rule);
  text += fmt::format("{}look at: {}\n", kIndented, words.advice);
  if (report.history.count() > 0) {
    text += fmt::format("{}the last of {} packets and timeouts:\n", kIndented, report.history.count());
    report.history.for_each([&](const QpHistoryEvent& event) { text += line_of(event, report); });
  }
  return text;
}

}  // namespace urnic::nic
