// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/sheet_words.h"

#include <optional>

#include "transport/rc/syndrome.h"

namespace urnic::sheet {

using transport::CompletionStatus;
using transport::Nak;
using transport::QpState;
using transport::SyndromeKind;

std::string_view meaning_of(QpState state) {
  using enum QpState;
  switch (state) {
    case kReset:
      return "New, or taken back. Nothing is posted, sent or received.";
    case kInit:
      return "Receives can be posted before the peer sends. Packets that come are dropped.";
    case kReadyToReceive:
      return "Ready to receive: the peer's requests are carried out. This end sends no requests.";
    case kReadyToSend:
      return "Ready to send: the usual state, in which both directions work.";
    case kSqDrained:
      return "The send queue drains: what has begun ends, the rest waits for RTS. Attributes can change.";
    case kSqError:
      return "A send of UC or UD failed. Sends are flushed, receives go on. RTS begins again.";
    case kError:
      return "Everything that is posted ends with WR_FLUSH_ERR. The way out is RESET.";
  }
  return "";
}

StatusWords words_of(CompletionStatus status) {
  using enum CompletionStatus;
  switch (status) {
    case kSuccess:
      return {"The work request is done. Of RC: the peer has acknowledged it. Of UC and UD: it has left.",
              "From now on the program may use the buffer again. The other fields of the completion are "
              "valid, too."};
    case kLocalLengthError:
      return {
          "A message was longer than the receive that it took; or a datagram, or an atomic, has a wrong "
          "length.",
          "Length of the posted receives. A UD message fits into one path MTU, and its receive has room for "
          "40 bytes more. An atomic has 8 bytes."};
    case kLocalQpOperationError:
      return {"The queue pair cannot carry out this operation.",
              "Does this service have the operation? Has the datagram an address handle? Is the key to "
              "invalidate valid?"};
    case kLocalProtectionError:
      return {
          "An element of the scatter/gather list names memory that the queue pair may not use in this way.",
          "L_Key, address and length of each element; the protection domain; IBV_ACCESS_LOCAL_WRITE for "
          "receives, READs and atomics. Is the region still registered?"};
    case kWorkRequestFlushed:
      return {"The queue pair went to ERR, or its send queue to SQE, before this work request was done.",
              "An earlier completion that has another status says why. After a disconnection, or a change to "
              "ERR, it is usual."};
    case kMemoryWindowBindError:
      return {"A memory window could not be bound.",
              "IBV_ACCESS_MW_BIND of the region, its bounds and its protection domain. Is a type 2 window "
              "still bound?"};
    case kBadResponse:
      return {"A response is not what the request asked for, or has another length.",
              "The same path_mtu at both ends? Otherwise the peer's stack is faulty: record packets and ask "
              "'urnic check'."};
    case kLocalAccessError:
      return {"The responder refused the data of a WRITE with immediate after its receive was taken.",
              "R_Key, address and length that the peer uses; the rights of the region."};
    case kRemoteInvalidRequest:
      return {"The responder refused the request as invalid (NAK).",
              "At the peer: qp_access_flags, length of its receives, path_mtu, max_dest_rd_atomic of at "
              "least our max_rd_atomic. An atomic's address is a multiple of 8."};
    case kRemoteAccessError:
      return {"The responder does not allow access to this memory (NAK).",
              "R_Key, remote address and length; access flags and protection domain of the peer's "
              "ibv_reg_mr(). Is the region still registered?"};
    case kRemoteOperationError:
      return {"The responder could not carry out the request because of a fault of its own (NAK).",
              "Completions at the peer. The memory of its receives: is it registered, and writable?"};
    case kRetryExceeded:
      return {"No acknowledgement came in time, although the request was sent retry_cnt times again.",
              "Is the peer's queue pair in RTR, with our number and address? GID, path_mtu, firewall of UDP "
              "port 4791, loss, timeout."};
    case kRnrRetryExceeded:
      return {"The peer had no receive posted, although the request was sent rnr_retry times again.",
              "Post receives before the peer sends, and enough of them. A larger rnr_retry (7: without end), "
              "or min_rnr_timer of the receiver."};
  }
  return {};
}

namespace {

SyndromeWords words_of_nak(std::optional<Nak> reason) {
  constexpr std::string_view kFails = "Ends the work request with this status; the queue pair goes to ERR";
  if (!reason) return {"Of reliable datagrams, which RoCEv2 does not use", "Ignores it, and counts it"};
  switch (*reason) {
    case Nak::kPsnSequenceError:
      return {"A packet is missing: this PSN was expected", "Sends again from this PSN on"};
    case Nak::kInvalidRequest:
      return {
          "The responder does not take such a request: rights of the queue pair, length, order, alignment",
          kFails};
    case Nak::kRemoteAccessError:
      return {"Key, bounds or rights of the memory forbid it", kFails};
    case Nak::kRemoteOperationalError:
      return {"The responder has a fault of its own, such as unusable receives", kFails};
  }
  return {};
}

}  // namespace

SyndromeWords words_of_syndrome(std::uint8_t syndrome) {
  switch (transport::kind_of(syndrome)) {
    case SyndromeKind::kAcknowledge:
      if (syndrome == transport::kAckSyndrome) {
        return {"Done up to this PSN; nothing is said of credits", "Completes what is done"};
      }
      return {"Done up to this PSN; the low five bits say how many receives are posted (credit code)",
              "Completes what is done; keeps SENDs back that exceed the credits"};
    case SyndromeKind::kRnrNak:
      return {"Receiver not ready: no receive is posted. The low five bits say how long to wait (timer code)",
              "Waits, and sends again from this PSN on"};
    case SyndromeKind::kNak:
      return words_of_nak(transport::nak_of(syndrome));
    case SyndromeKind::kReserved:
      break;
  }
  return {"Has no meaning", "Ignores it, and counts it"};
}

}  // namespace urnic::sheet
